package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/limited"
)

// DefaultTimeout is how long a call may wait for the store unless WithTimeout
// says otherwise.
const DefaultTimeout = 250 * time.Millisecond

// Manager hands out buckets by key. It is safe for concurrent use. Make one
// with [NewManager] for each store and prefix and keep it.
type Manager struct {
	origin      origin // of plain handles
	backend     Backend
	taker       Taker // the backend, if it is one and nobody observes
	prefix      string
	secret      []byte // of hashed keys; nil: they are not
	life        expiration.Rule
	timeout     time.Duration
	storedRules bool
	observer    Observer
	listener    bucket.Listener
	waiters     bucket.Waiters
	nonBlocking bool // the backend never blocks
	closed      atomic.Bool
}

// Option changes what [NewManager] makes.
type Option func(*Manager) error

// WithKeyPrefix sets what comes before every key in the store; the default is
// [DefaultKeyPrefix], and nothing for a backend in this process ([NonBlocking]),
// whose keys nobody else sees. Managers share nothing if neither prefix begins the other.
// A brace is refused, since it would put all keys into one slot of a Redis
// Cluster.
func WithKeyPrefix(prefix string) Option {
	return func(m *Manager) error {
		if strings.ContainsAny(prefix, "{}") {
			return &bucket.ArgumentError{Field: "key prefix", Value: prefix, Allowed: "a prefix without braces"}
		}
		m.prefix = prefix
		return nil
	}
}

// WithExpiration sets how long keys outlive their need; the default is the zero
// rule.
func WithExpiration(r expiration.Rule) Option {
	return func(m *Manager) error {
		m.life = r
		return r.Validate()
	}
}

// WithTimeout bounds how long each call of the backend may take, unless its
// context ends earlier; the default is [DefaultTimeout]. A bucket made by
// [Manager.BucketFunc] may make two.
func WithTimeout(d time.Duration) Option {
	return func(m *Manager) error {
		if d <= 0 {
			return &bucket.ArgumentError{Field: "timeout", Value: d, Allowed: "more than 0"}
		}
		m.timeout = d
		return nil
	}
}

// WithStoredRules leaves a stored configuration in force over the declared one,
// whatever their versions: for limits that an operator changes at run time. The
// declared configuration then only creates buckets.
func WithStoredRules() Option {
	return func(m *Manager) error {
		m.storedRules = true
		return nil
	}
}

// WithMaxWaiters bounds how many callers may be in Wait at a time, over all
// buckets of the manager; others get bucket.ErrTooManyWaiters at once. The
// default is no bound.
func WithMaxWaiters(n int) Option {
	return func(m *Manager) error { return m.waiters.SetMost(n) }
}

// WithHashedKeys keeps keys under their HMAC-SHA-256 with a secret of 16 bytes or
// more, for keys that are personal data and not to be read in the store. Braces in
// a key then put it in no slot of a cluster of its own choosing. All managers of
// the buckets need the same secret; with another one all buckets are new.
func WithHashedKeys(secret []byte) Option {
	return func(m *Manager) error {
		if len(secret) < leastSecret {
			return &bucket.ArgumentError{Field: "secret", Value: fmt.Sprint(len(secret), " bytes"), Allowed: fmt.Sprint(leastSecret, " bytes or more")}
		}
		m.secret = bytes.Clone(secret)
		return nil
	}
}

// WithListener sets who hears what happens to the tokens of all buckets of the
// manager; the default is nobody.
func WithListener(l bucket.Listener) Option {
	return func(m *Manager) error {
		if isNil(l) {
			return &bucket.ArgumentError{Field: "listener", Value: "nil", Allowed: "a listener"}
		}
		m.listener = l
		return nil
	}
}

// WithObserver sets who hears of every call that reaches the backend; the
// default is nobody.
func WithObserver(o Observer) Option {
	return func(m *Manager) error {
		if isNil(o) {
			return &bucket.ArgumentError{Field: "observer", Value: "nil", Allowed: "an observer"}
		}
		m.observer = o
		return nil
	}
}

// NewManager returns a manager of the buckets in a backend. It does no I/O, so
// it works while the store is down. The error is or joins
// [*bucket.ArgumentError]s; what was wrong with the arguments of the backend
// itself is reported here too.
func NewManager(b Backend, opts ...Option) (*Manager, error) {
	m := &Manager{backend: b, prefix: DefaultKeyPrefix, timeout: DefaultTimeout}
	m.origin.manager = m
	faults := []error{validate(b)}
	if faults[0] == nil && nonBlocking(b) {
		m.nonBlocking, m.prefix = true, ""
	}
	for _, opt := range opts {
		if opt == nil {
			opt = func(*Manager) error {
				return &bucket.ArgumentError{Field: "option", Value: "nil", Allowed: "an option of this package"}
			}
		}
		faults = append(faults, opt(m))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if t, ok := b.(Taker); ok && t.TakesFor(b) && m.nonBlocking && m.observer == nil {
		m.taker = t
	}
	return m, nil
}

// isNil also finds a nil pointer inside an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// Bucket is the bucket of a key under a configuration. It does no I/O and never
// fails: a bad key or configuration is the error of every operation. The key is
// any text that is not empty, binary too; the same key and prefix are the same
// bucket in every process. A key longer than [MaxKeyLength] is kept as its
// SHA-256. Keys in Redis Cluster go to the slot of what is in their first pair
// of braces, if they have one.
func (m *Manager) Bucket(key string, c bucket.Configuration) Bucket {
	r := m.plain(key)
	r.config = c
	if (c.IsZero() || m.storedRules && c.Stateless()) && r.origin.err == nil {
		return m.unusual(r)
	}
	return Bucket{bucket.NewVia(r)}
}

// unusual is the bucket of a configuration that is none, or that stored ones come
// before.
func (m *Manager) unusual(r remote) Bucket {
	c := r.config
	if c.IsZero() {
		return Bucket{bucket.NewVia(m.failed(&bucket.ArgumentError{Field: "configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}))}
	}
	r.origin = &origin{manager: m, supply: func(context.Context) (bucket.Configuration, error) { return c, nil }}
	return Bucket{bucket.NewVia(r)}
}

// BucketFunc is the bucket of a key whose configuration is asked for only if
// the key is absent, at the cost of a second round trip; a stored configuration
// rules for as long as the key lives. So a supplier that answers Unlimited or
// DenyAll, of which nothing is stored, is asked by every call. A plain
// [Manager.Bucket] on the same key puts its own configuration in force. An error
// of supply is returned as it is.
func (m *Manager) BucketFunc(key string, supply func(context.Context) (bucket.Configuration, error)) Bucket {
	r := m.plain(key)
	switch {
	case r.origin.err != nil:
	case supply == nil:
		r = m.failed(&bucket.ArgumentError{Field: "supplier", Value: "nil", Allowed: "a function"})
	default:
		r.origin = &origin{manager: m, supply: supply}
	}
	return Bucket{bucket.NewVia(r)}
}

// Remove forgets the bucket of a key and tells whether there was one. What it
// finds that is not a bucket it leaves, as an error.
func (m *Manager) Remove(ctx context.Context, key string) (bool, error) {
	r, err := m.plain(key).Do(ctx, bucket.Operation{Kind: bucket.OpRemove})
	return r.Existed, err
}

// Configuration reads the configuration that a key is stored under, and tells
// whether there is one. Rates come back in lowest terms and initial tokens as
// the capacity, see [bucket.Configuration.Canonical].
func (m *Manager) Configuration(ctx context.Context, key string) (bucket.Configuration, bool, error) {
	r, err := m.plain(key).Do(ctx, bucket.Operation{Kind: bucket.OpInspect})
	return r.Configuration, r.Existed, err
}

// plain is the bucket of a key for what needs no configuration.
func (m *Manager) plain(key string) remote {
	stored, err := m.storedKey(key)
	if err != nil {
		return m.failed(err)
	}
	return remote{origin: &m.origin, key: stored}
}

// Close closes the backend, and with it every other manager of that backend;
// operations then report [ErrClosed]. Who waits already has his tokens, and waits
// on. It may be called twice. A Redis client stays open: it is the caller's.
func (m *Manager) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	return m.backend.Close()
}

// call is one decision with room for its charge and result.
type call struct {
	decision [1]Decision
	charge   [1]Charge
	result   [1]bucket.Result
}

var calls = sync.Pool{New: func() any { return new(call) }}

// do has one charge decided by the backend. Where the bucket is supplied, a stored
// configuration rules; without one to go by, and none declared, nothing is told:
// the caller then asks again.
func (m *Manager) do(ctx context.Context, key string, config bucket.Configuration, op bucket.Operation, supplied bool) (bucket.Result, error) {
	c := calls.Get().(*call)
	defer calls.Put(c)
	if err := m.carryOut(ctx, c, key, config, op, supplied); err != nil {
		return bucket.Result{}, err
	}
	return c.result[0], nil
}

// take is the same for takes of which only the yes or no is wanted.
func (m *Manager) take(ctx context.Context, key string, config bucket.Configuration, n int64) (bool, error) {
	c := calls.Get().(*call)
	defer calls.Put(c)
	err := m.carryOut(ctx, c, key, config, bucket.Operation{Kind: bucket.OpConsume, Tokens: n}, false)
	return err == nil && c.result[0].Consumed, err
}

// carryOut fills in a call and its result.
func (m *Manager) carryOut(ctx context.Context, c *call, key string, config bucket.Configuration, op bucket.Operation, supplied bool) error {
	req := bucket.Request{Config: config, StoredRules: m.storedRules || supplied, Op: op}
	c.charge[0], c.result[0] = Charge{Key: key, Request: req, Rule: m.life.Jittered()}, bucket.Result{}
	c.decision[0] = Decision{Charges: c.charge[:], Results: c.result[:]}
	d := &c.decision[0]

	if m.observer == nil {
		m.decide(ctx, c.decision[:])
	} else {
		begun := time.Now()
		m.decide(ctx, c.decision[:])
		lacks := supplied && config.IsZero() && d.Err == nil && !c.result[0].Existed && c.result[0].Measured()
		m.tell(ctx, d, time.Since(begun), lacks)
	}
	return d.Err
}

// decide bounds the call by the timeout. A backend that never blocks is spared
// the timer, and so is one that knows the answer.
func (m *Manager) decide(ctx context.Context, ds []Decision) {
	if recall(m.backend, &ds[0]) {
		return
	}
	if !m.nonBlocking {
		var l *limited.Context
		ctx, l = limited.Within(ctx, m.timeout)
		defer l.End()
	}
	m.backend.Do(ctx, ds)
}
