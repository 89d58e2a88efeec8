extension Result where Failure == any Error {
    /// Returns `.success(value)`.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public static func value(_ value: Success) -> Result { .success(value) }

    /// Returns `.failure(error)`.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public static func error(_ error: any Error) -> Result { .failure(error) }

    /// Creates a success with a value.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public init(_ value: Success) { self = .success(value) }

    /// Creates a failure with an error.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public init(_ error: any Error) { self = .failure(error) }
}

extension Result {
    /// The value of a success; nil for a failure.
    public var value: Success? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The error of a failure; nil for a success.
    public var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
