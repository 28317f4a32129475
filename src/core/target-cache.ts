/** What is made once for each target, since it is the same for all of its calls. */
import type { MakeHead, Target } from './provider.ts'
import type { CallHead } from './transport.ts'

/** By the function that makes them; those of streams separately. */
const heads = new WeakMap<Target, Map<MakeHead, [whole?: CallHead, streamed?: CallHead]>>()

/**
 * What `make` makes of the target, always the same object: the transport knows by its identity what it has derived from
 * a head. `stream` = its answer is requested as a stream. `make` must not be a function that is made for the call.
 * Throws what `make` throws.
 */
export function headOf(target: Target, make: MakeHead, stream = false): CallHead {
  let ofTarget = heads.get(target)
  if (!ofTarget) heads.set(target, (ofTarget = new Map()))
  let pair = ofTarget.get(make)
  if (!pair) ofTarget.set(make, (pair = []))
  return (pair[stream ? 1 : 0] ??= make(target, stream))
}

/** Makes a value for each target once: its deployment lives as long. */
export function memoizePerTarget<Value>(make: (target: Target) => Value): (target: Target) => Value {
  const made = new WeakMap<Target, Value>()
  return target => {
    let value = made.get(target)
    if (value === undefined) made.set(target, (value = make(target)))
    return value
  }
}
