/// Work that is divided among the workers and done when the call returns.
public enum Parallel {}
