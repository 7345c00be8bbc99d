"""Privacy accounting by the method of Gohari et al., which is used only for this paper."""
