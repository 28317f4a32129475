/** Replaces the upstream's file ids in answers: clients see only those of the gateway. */
import type { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { AnswerHead } from '../../core/transport.ts'
import { replacedIds, withLocalIds } from '../../core/dialects/local-ids.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { LateAnswer } from './filtered-format.ts'
import { WrappedRelay } from './wrapped-relay.ts'

/** The upstream's id -> the gateway's. */
type Ids = ReadonlyMap<string, string>
type Output = Uint8Array | string

/** The part of an attempt that reads the upstream's answer, whole or as a stream. */
interface AnswerReader {
  answer(bytes: Uint8Array, head: AnswerHead): { readonly body: Output; readonly usage: Usage | undefined }
  readonly late?: LateAnswer | undefined
  relay(contentType: string): StreamRelay
}

/** The same attempt with the gateway's ids in its output. */
export function withLocalAnswer<Attempt extends AnswerReader>(attempt: Attempt, ids: Ids): Attempt {
  return {
    ...attempt,
    answer(bytes, head) {
      const answer = attempt.answer(bytes, head)
      return { ...answer, body: localised(answer.body, ids) }
    },
    ...(attempt.late && { late: localLate(attempt.late, ids) }),
    relay: contentType => new LocalRelay(attempt.relay(contentType), ids),
  }
}

function localLate(late: LateAnswer, ids: Ids): LateAnswer {
  return {
    holds: () => late.holds(),
    text: async () => replacedIds(await late.text(), ids),
    listen: receiver =>
      late.listen?.({
        early: text => receiver.early(replacedIds(text, ids)),
        refused: error => receiver.refused(error),
      }),
  }
}

/** Latin-1 maps every byte to one character, so decoding and encoding are exact. */
function localised(output: Output, ids: Ids): Output {
  if (typeof output === 'string') return replacedIds(output, ids)
  const buffer = Buffer.from(output.buffer, output.byteOffset, output.byteLength)
  if (![...ids.keys()].some(id => buffer.includes(id))) return output
  return Buffer.from(replacedIds(buffer.toString('latin1'), ids), 'latin1')
}

/** Relays return whole events, so that no id is split. */
class LocalRelay extends WrappedRelay {
  readonly #ids: Ids

  constructor(relay: StreamRelay, ids: Ids) {
    super(relay)
    this.#ids = ids
  }

  push(bytes: Uint8Array): Output {
    return localised(this.relay.push(bytes), this.#ids)
  }

  end(): Output {
    return localised(this.relay.end(), this.#ids)
  }

  override errorEvent(error: GatewayError): string {
    return this.relay.errorEvent(withLocalIds(error, this.#ids))
  }
}
