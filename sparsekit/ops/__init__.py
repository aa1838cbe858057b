"""The operators, in folders by family; ``declared`` makes all of them known."""
