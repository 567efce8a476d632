//! Everything about the store that needs more than one module; one program, because linking is what costs.
