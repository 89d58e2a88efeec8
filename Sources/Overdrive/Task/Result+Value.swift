extension Result where Failure == any Error {
    /// The same as `.success(value)`.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public static func value(_ value: Success) -> Result { .success(value) }

    /// The same as `.failure(error)`.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public static func error(_ error: any Error) -> Result { .failure(error) }

    /// A success.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public init(_ value: Success) { self = .success(value) }

    /// A failure.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: None.
    public init(_ error: any Error) { self = .failure(error) }
}

extension Result {
    /// The value of a success.
    public var value: Success? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The error of a failure.
    public var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
