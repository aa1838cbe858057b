"""Control flow and custom operators of symbols."""
