"""A OneClaw to look at: a year of somebody's made-up life, and a model that needs no key."""
