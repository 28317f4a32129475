/** What depends on a target alone, and is the same for all of its calls. */
import type { Target } from './provider.ts'

/** Makes a value for each target once: its deployment lives as long. */
export function perTarget<Value>(make: (target: Target) => Value): (target: Target) => Value {
  const made = new WeakMap<Target, Value>()
  return target => {
    let value = made.get(target)
    if (value === undefined) made.set(target, (value = make(target)))
    return value
  }
}
