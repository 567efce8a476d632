mod nonsense;
mod real;
mod scripted;
