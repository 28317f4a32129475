/** A body that came in after its head: when it is complete, its sender is asked about once more. */
import { toGatewayError } from '../../core/errors.ts'
import type { BodyReader, RequestBody } from '../../core/request.ts'

/**
 * Minutes may lie between a head and the end of its body, in which a key is revoked or a role is taken away. `confirm`
 * throws or rejects where the sender may not do any more what its head was admitted for; the body then fails so.
 */
export class LateBody implements RequestBody {
  readonly #body: RequestBody
  readonly #confirm: () => void | Promise<void>

  constructor(body: RequestBody, confirm: () => void | Promise<void>) {
    this.#body = body
    this.#confirm = confirm
  }

  get announcedBytes(): number | undefined {
    return this.#body.announcedBytes
  }

  get ended(): boolean {
    return this.#body.ended
  }

  read(bytesMax: number, reader: BodyReader): void {
    this.#body.read(bytesMax, {
      whole: bytes => this.#confirmed(() => reader.whole(bytes), reader),
      failed: error => reader.failed(error),
    })
  }

  async next(): Promise<Uint8Array | undefined> {
    const piece = await this.#body.next()
    if (piece === undefined) await this.#confirm()
    return piece
  }

  keep(): () => void {
    return this.#body.keep()
  }

  hold(bytes: number): void {
    this.#body.hold(bytes)
  }

  #confirmed(go: () => void, reader: BodyReader): void {
    let confirming: void | Promise<void>
    try {
      confirming = this.#confirm()
    } catch (thrown) {
      return reader.failed(toGatewayError(thrown))
    }
    if (!confirming) return go()
    confirming.then(go, thrown => reader.failed(toGatewayError(thrown)))
  }
}
