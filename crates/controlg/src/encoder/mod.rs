//! Graph neural networks that turn a view of a graph into node representations.
