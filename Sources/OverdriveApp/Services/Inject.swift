// Owns the property wrapper that finds a service at its first use. Programs write it; `ServiceLocator` resolves.

public import Synchronization

/// Finds a service by its type at the first use.
///
///     actor Mailroom {
///         @Inject var mailer: any Mailer
///         @Inject(name: "uploads") var folder: URL
///         func send(_ letter: Letter) { mailer.send(letter) }
///     }
///
/// A Sendable class cannot have a wrapped variable. Write `let mailer = Injected<any Mailer>()` there, and
/// `mailer.value` or `mailer()`.
///
/// The wrapper keeps the resolved service. A later registration affects only later resolutions. A service that is not
/// registered, or that needs itself, traps with a message that names the type and the caller.
///
/// - Threading: Safe from any thread. All threads see the same instance.
/// - Cost: One load and no lock, after the first use. An `@Inject` variable also retains and releases the service. A
///   constant `Injected` avoids this for a class, and for a protocol in ``withValue(_:)``. The first use costs a
///   resolution by ``ServiceLocator``.
@propertyWrapper
@safe public final class Inject<Value: Sendable>: @unchecked Sendable {
    /// The resolved service. It is used in place, because a copy would change a reference count, which takes longer
    /// than the rest.
    @usableFromInline
    final class Box {
        @usableFromInline let value: Value
        init(_ value: Value) { self.value = value }
    }

    /// The retained box, set once. It is a raw pointer, because `AtomicLazyReference` looks up type metadata at each
    /// read.
    @usableFromInline let box = unsafe Atomic<UnsafeRawPointer?>(nil)
    private let locator: ServiceLocator
    private let name: String?
    private let file: StaticString
    private let line: UInt

    /// Creates a reference to a service.
    ///
    /// - Parameters:
    ///   - type: The registered type.
    ///   - name: The registered name.
    ///   - locator: The locator to search.
    ///   - file: The calling file, used in error messages.
    ///   - line: The calling line, used in error messages.
    public init(
        _ type: Value.Type = Value.self, name: String? = nil, in locator: ServiceLocator = .shared,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        (self.name, self.locator, self.file, self.line) = (name, locator, file, line)
    }

    /// The service.
    @inlinable
    public var wrappedValue: Value { withValue { $0 } }

    /// The service.
    @inlinable
    public var value: Value { withValue { $0 } }

    /// Calls a closure with the service, without copying it. A copy of an `any Mailer` takes longer than the rest.
    ///
    ///     let mailer = Injected<any Mailer>()
    ///     mailer.withValue { $0.send(letter) }
    ///
    /// - Parameter body: The closure. The service stays valid during the call.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    /// - Threading: The calling thread runs `body`. Several threads may do so at a time.
    /// - Cost: One load, after the first use.
    @inlinable @inline(__always)
    public func withValue<R>(_ body: (Value) throws -> R) rethrows -> R {
        // Without this, the compiler could release the wrapper and its box before the box is read.
        defer { withExtendedLifetime(self) {} }
        return try unsafe resolved._withUnsafeGuaranteedRef { try body($0.value) }
    }

    // Inlined, so that code that knows Value does not look up type metadata.
    @inlinable @inline(__always)
    var resolved: Unmanaged<Box> {
        // Acquires the service's initialisation.
        if let box = unsafe box.load(ordering: .acquiring) { return unsafe .fromOpaque(box) }
        return unsafe resolve()
    }

    /// The service.
    @inlinable
    public func callAsFunction() -> Value { wrappedValue }

    /// The wrapper itself: `$mailer.isResolved`.
    public var projectedValue: Inject<Value> { self }

    /// Whether the service has been resolved.
    public var isResolved: Bool { unsafe box.load(ordering: .relaxed) != nil }  // relaxed: the service is not read

    deinit {
        // No other thread accesses the wrapper during its deinitialisation.
        if let box = unsafe box.load(ordering: .acquiring) { unsafe Unmanaged<Box>.fromOpaque(box).release() }
    }

    @usableFromInline
    @inline(never)
    func resolve() -> Unmanaged<Box> {
        let made = unsafe Unmanaged.passRetained(Box(locator.module(for: Value.self, name: name, file: file, line: line)))
        // Releases the service's initialisation. If several threads resolve at once, all use the result of the first
        // one.
        let (isFirst, found) = unsafe box.compareExchange(
            expected: nil, desired: UnsafeRawPointer(made.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isFirst, let found = unsafe found else { return unsafe made }
        unsafe made.release()
        return unsafe .fromOpaque(found)
    }
}

/// A service found by its type at the first use, as a constant: `let mailer = Injected<any Mailer>()`.
public typealias Injected = Inject
