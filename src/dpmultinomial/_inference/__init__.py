"""From a release to what it says: `Release`, `posterior`, `posteriors`, `read`; one adapter a kind of mechanism."""
