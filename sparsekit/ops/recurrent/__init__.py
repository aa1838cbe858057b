"""The recurrent layers, in one operator."""
