/** What the answers of runs have in common, in every dialect. */
import { streamOf } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import { exactObject } from '../../../lib/json/exact-json.ts'
import type { ExactNames } from '../../../lib/json/exact-json.ts'
import { frameSplitter } from '../../../lib/frame-splitter.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** A stream of the pieces, each made when the reader can take it; a reader that leaves ends the work. */
export function pulled(pieces: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(Buffer.from(value))
      },
      async cancel() {
        await pieces.return(undefined)
      },
    },
    { highWaterMark: 1 },
  )
}

/** The data of the events of a stream, in their order. */
export async function* dataOf(answer: Answer): AsyncGenerator<string> {
  const splitter = frameSplitter()
  for await (const bytes of streamOf(answer.body)!) for (const { data } of splitter.push(bytes)) yield data
}

/** The events of a stream whose data are objects; what else a stream says is no part of the answer. */
export async function* eventsOf(answer: Answer, names: ExactNames): AsyncGenerator<Json> {
  for await (const data of dataOf(answer)) {
    const event = exactObject(data, names)
    if (event) yield event
  }
}

/** What the turns used together, number by number; null where one of them has reported nothing. */
export function usageOf(usages: readonly unknown[]): Json | null {
  const known = usages.filter(isObject)
  if (known.length < usages.length || known.length === 0) return null
  return known.reduce((sum, usage) => added(sum, usage))
}

/** Numbers added up, objects within objects too. */
function added(one: Json, other: Json): Json {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...names].map(name => {
      const [a, b] = [one[name], other[name]]
      if (isObject(a) && isObject(b)) return [name, added(a, b)]
      return [name, typeof a === 'number' && typeof b === 'number' ? a + b : (b ?? a)]
    }),
  )
}

/** The error of a turn that was refused: by a limit, a budget or the upstream. */
export function refusalIn({ body }: Answer): Json {
  const text = typeof body === 'string' ? body : Buffer.from((body ?? '') as Uint8Array).toString('utf8')
  const told = exactObject(text)?.error
  return isObject(told) ? told : { code: 'server_error', message: 'the next turn of the model failed' }
}
