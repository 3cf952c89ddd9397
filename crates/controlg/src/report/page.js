window.drawPage = () => { explainBlocks(); drawMap(); };
window.drawPage();
