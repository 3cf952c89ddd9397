//! The built-in names as types, for [`ConfigBuilder`](super::ConfigBuilder).

/// Defines an enum whose variants stand for names of a list.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $kind {
            /// All of them.
            pub const ALL: &[$kind] = &[$($kind::$variant),*];

            /// The name that run files use.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)*
                }
            }
        }

        impl From<$kind> for String {
            fn from(kind: $kind) -> String {
                kind.name().to_owned()
            }
        }
    };
}

names! {
    /// A built-in encoder.
    EncoderKind {
        /// Graph convolutional network.
        Gcn = "gcn",
        /// GraphSAGE: own weights for a node and for its neighbors.
        Sage = "sage",
        /// Graph attention network.
        Gat = "gat",
        /// Relational graph convolutions: own weights per relation and direction.
        Rgcn = "rgcn",
    }
}

names! {
    /// A built-in objective. All of them can be combined; the paper's five are the default.
    ObjectiveKind {
        /// Link prediction.
        Link = "p_link",
        /// Masked feature reconstruction.
        Recon = "p_recon",
        /// Node-subgraph contrast.
        Minsg = "p_minsg",
        /// Decorrelation of two views.
        Decor = "p_decor",
        /// Graph partition prediction.
        Par = "p_par",
        /// Deep Graph Infomax.
        Dgi = "dgi",
        /// GRACE.
        Grace = "grace",
        /// MVGRL.
        Mvgrl = "mvgrl",
        /// BGRL.
        Bgrl = "bgrl",
        /// GraphMAE.
        GraphMae = "graphmae",
        /// CCA-SSG.
        CcaSsg = "cca-ssg",
        /// GCA.
        Gca = "gca",
        /// For testing: random classes.
        Noise = "x_noise",
        /// For testing: another node's features.
        Shuffle = "x_shuffle",
        /// For testing: edges that the encoder sees.
        Memorize = "x_memorize",
    }
}

names! {
    /// A built-in method: a scheduler, a gradient mixer or a single-objective baseline.
    MethodKind {
        /// The feedback loop of the paper.
        ControlG = "controlg",
        /// The feedback loop with shares from expected gains on held-out losses.
        ControlGGain = "controlg-gain",
        /// A uniform random objective per block.
        Random = "random",
        /// The objectives in turn.
        RoundRobin = "round-robin",
        /// The mean of all losses.
        Uniform = "uniform",
        /// Projecting conflicting gradients.
        PcGrad = "pcgrad",
        /// Conflict-averse gradient descent.
        CaGrad = "cagrad",
        /// Multiple-gradient descent.
        Mgda = "mgda",
        /// MGDA with ParetoGNN's settings.
        ParetoGnn = "paretognn",
        /// Loss weights learned by pseudo-homophily.
        AutoSsl = "autossl",
        /// Loss weights searched by evolution.
        AutoSslEs = "autossl-es",
        /// Losses weighted and selected per node.
        Was = "was",
        /// Gradient norms balanced.
        GradNorm = "gradnorm",
        /// Losses weighted by learned uncertainty.
        Uncertainty = "uncertainty",
        /// Nash bargaining.
        NashMtl = "nash-mtl",
        /// Dynamic task prioritization.
        Dtp = "dtp",
        /// `controlg` without the Rayleigh quotient.
        NoSpectral = "controlg-no-spectral",
        /// `controlg` without gradient conflict.
        NoInterference = "controlg-no-interference",
        /// `controlg` with equal shares.
        NoPlanner = "controlg-no-planner",
        /// `controlg` with independent draws from the plan.
        NoController = "controlg-no-controller",
        /// `controlg` without difficulty.
        NoState = "controlg-no-state",
        /// `controlg` that trains the objective with the largest deficit.
        MaxDeficit = "controlg-max-deficit",
        /// No training.
        Untrained = "untrained",
        /// Link prediction alone.
        Link = "p_link",
        /// Masked feature reconstruction alone.
        Recon = "p_recon",
        /// Node-subgraph contrast alone.
        Minsg = "p_minsg",
        /// Decorrelation alone.
        Decor = "p_decor",
        /// Graph partition prediction alone.
        Par = "p_par",
        /// Deep Graph Infomax.
        Dgi = "dgi",
        /// GRACE.
        Grace = "grace",
        /// MVGRL.
        Mvgrl = "mvgrl",
        /// BGRL.
        Bgrl = "bgrl",
        /// GraphMAE.
        GraphMae = "graphmae",
        /// CCA-SSG.
        CcaSsg = "cca-ssg",
        /// GCA.
        Gca = "gca",
        /// For testing: random classes.
        Noise = "x_noise",
        /// For testing: another node's features.
        Shuffle = "x_shuffle",
        /// For testing: edges that the encoder sees.
        Memorize = "x_memorize",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::METHODS;
    use crate::encoder::ENCODERS;
    use crate::objective;

    #[test]
    fn every_built_in_name_has_a_variant_and_every_variant_a_name() {
        let encoders: Vec<&str> = ENCODERS.iter().map(|entry| entry.name).collect();
        assert_eq!(EncoderKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), encoders);
        let objectives: Vec<&str> = objective::all().map(|entry| entry.name).collect();
        assert_eq!(ObjectiveKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), objectives);
        let mut methods: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        methods.extend(objective::all().map(|entry| entry.name));
        assert_eq!(MethodKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), methods);
    }
}
