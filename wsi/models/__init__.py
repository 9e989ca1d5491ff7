"""Models: the cards of built-in ones, the registered versions, and how an admin adds one."""
