/** The answer of a run with tools, whole or as a stream. */
import { toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import { brokenAnswer } from '../../../core/errors.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { responseStream } from './responses-stream.ts'
import { nextTurn, wholeResponse } from './responses-turns.ts'
import type { ResponsesRun } from './responses-turns.ts'

/** The whole answer of a run, from that of its first turn. */
export async function runResponses(answer: Answer, run: ResponsesRun): Promise<Answer> {
  const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream')
  if (answer.status !== 200) return answer
  if (isStream) return { ...answer, body: responseStream(answer, run) }
  let last = await responseOf(answer)
  const usages = [last.usage]
  for (;;) {
    const next = last.status === 'failed' ? undefined : await nextTurn(run, (last.output ?? []) as Json[])
    if (!next) break
    if (next.status !== 200) return next
    last = await responseOf(next)
    usages.push(last.usage)
  }
  return { ...answer, body: exactText(wholeResponse(run, last, usages)) }
}

const responseOf = async (answer: Answer): Promise<Json> => {
  const text = await toResponse(answer).text()
  const response = exactObject(text, schemaNames)
  if (!response) throw brokenAnswer('the answer of the model is no object')
  return response
}
