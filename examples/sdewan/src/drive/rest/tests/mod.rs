mod nonsense;
mod real;
