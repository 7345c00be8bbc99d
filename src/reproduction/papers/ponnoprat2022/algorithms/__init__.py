"""Privacy accounting by Gohari et al., which only this paper uses."""
