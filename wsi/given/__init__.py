"""Objects that a user gives to be scored one by one: those of another program, or of another run of ours."""
