//! What is shown of a delivery that has several effects.
