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
  const set = (call: Call, bytes: number): void => {
    reservedBytes += bytes - call.reservedBytes
    call.reservedBytes = bytes
  }
  const reserve = (call: Call, bytes: number): void => {
    const { bodyMemoryBytesMax: bytesMax } = call.models.settings
    const ofOthersBytes = reservedBytes - call.reservedBytes
    if (ofOthersBytes > 0 && bytes > call.reservedBytes && ofOthersBytes + bytes > bytesMax)
      throw new GatewayError(
        'overloaded',
        `the bodies of the calls under way take all of the ${bytesMax} bytes that this gateway holds for them; ` +
          'try again in a second',
        { retryAfterMs },
      )
    set(call, bytes)
  }
  const onHead: Policy = {
    name: 'body-budget',
    stage: 'head',
    admit(call) {
      // Of a body that is too large for itself nothing is kept, and of one that no endpoint reads as little.
      reserve(call, Math.min(call.announcedBytes ?? unannouncedBytes, call.models.settings.bodyBytesMax))
    },
    settled: ({ call }) => set(call, 0),
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
