"""Posterior distributions given protected releases, with one package per problem."""
