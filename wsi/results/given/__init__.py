"""Files of the objects that a user gave, with what the model says of each."""
