"""Parts that can be added: import strings, entry points and the tables of built-in parts."""
