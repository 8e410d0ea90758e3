"""Models of calibrant inside other tools; each module imports the tool that it is named after."""
