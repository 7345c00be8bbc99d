"""Posteriors given protected releases, one package per problem."""
