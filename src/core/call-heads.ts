/** The heads of calls, made once for each target: they depend on it alone, and only bodies differ from call to call. */
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
