/** Limits the memory of the bodies of all open calls together. */
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'

/** The size assumed for a body without an announced length until it is read. */
const unannouncedBytes = 1024 * 1024
/** Memory is freed as calls end. */
const retryAfterMs = 1000

/**
 * Reserves the announced bytes of each call until it is settled; without an announcement, the size once it is read.
 * Throws `overloaded` when the budget is used up. A body larger than the whole budget passes when nothing else is
 * reserved.
 */
export function bodyBudget(): { readonly onHead: Policy; readonly onBody: Policy } {
  let reservedBytes = 0
  const reserve = (call: Call, bytes: number): void => {
    reservedBytes += bytes - call.reservedBytes
    call.reservedBytes = bytes
  }
  const onHead: Policy = {
    name: 'body-budget',
    stage: 'head',
    admit(call) {
      const { bodyMemoryBytesMax: bytesMax, bodyBytesMax } = call.models.settings
      // Of a body that is too large for itself nothing is kept, and of one that no endpoint reads as little.
      const bytes = Math.min(call.announcedBytes ?? unannouncedBytes, bodyBytesMax)
      if (reservedBytes > 0 && reservedBytes + bytes > bytesMax)
        throw new GatewayError(
          'overloaded',
          `the bodies of the calls under way take all of the ${bytesMax} bytes that this gateway holds for them; ` +
            'try again in a second',
          { retryAfterMs },
        )
      reserve(call, bytes)
    },
    settled: ({ call }) => reserve(call, 0),
  }
  const onBody: Policy = {
    name: 'body-size',
    stage: 'body',
    dryRun: false,
    admit(call) {
      if (call.announcedBytes === undefined && call.body && !call.upload) reserve(call, call.body.size)
    },
  }
  return { onHead, onBody }
}
