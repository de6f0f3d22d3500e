// Nothing: it has the precompiled header of the tests made.
