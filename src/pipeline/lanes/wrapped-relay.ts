import type { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { Usage } from '../../core/usage/usage.ts'

/** A relay around another one, whose state it has; what it gives out is decided by its `push` and `end`. */
export abstract class WrappedRelay implements StreamRelay {
  protected readonly relay: StreamRelay

  constructor(relay: StreamRelay) {
    this.relay = relay
  }

  abstract push(bytes: Uint8Array): Uint8Array | string
  abstract end(): Uint8Array | string

  errorEvent(error: GatewayError): string {
    return this.relay.errorEvent(error)
  }

  get started(): boolean {
    return this.relay.started
  }

  get complete(): boolean {
    return this.relay.complete
  }

  get terminated(): boolean {
    return this.relay.terminated
  }

  get received(): boolean {
    return this.relay.received
  }

  get steps(): number {
    return this.relay.steps
  }

  get quietMs(): number | undefined {
    return this.relay.quietMs
  }

  get failure(): GatewayError | undefined {
    return this.relay.failure
  }

  get usage(): Usage | undefined {
    return this.relay.usage
  }

  get answeredModel(): string | undefined {
    return this.relay.answeredModel
  }

  get contentEvents(): number {
    return this.relay.contentEvents
  }

  get contentCharacters(): number {
    return this.relay.contentCharacters
  }
}
