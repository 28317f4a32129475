import type { UpstreamExchange } from '../../core/transport.ts'

/** An exchange that is sent later: a cancel before that prevents it. */
export function deferredExchange(sending: Promise<UpstreamExchange>): UpstreamExchange {
  let cancelled = false
  let exchange: UpstreamExchange | undefined
  const response = sending.then(sent => {
    exchange = sent
    if (cancelled) sent.cancel()
    return sent.response
  })
  return {
    response,
    get sent() {
      return exchange?.sent ?? false
    },
    cancel() {
      cancelled = true
      exchange?.cancel()
    },
  }
}
