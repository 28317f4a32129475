/**
 * Lazy initialization, weakly held: the value is made at its first use, kept as long as the garbage collector leaves
 * it, and made again afterwards. For what is large, cheap to make and seldom needed: the schema of a body with thirty
 * fields is 60 kB of closures, and an installation asks few of its endpoints for anything.
 */
export function lazy<Value extends object>(make: () => Value): () => Value {
  let made: WeakRef<Value> | undefined
  return () => {
    const known = made?.deref()
    if (known) return known
    const value = make()
    made = new WeakRef(value)
    return value
  }
}
