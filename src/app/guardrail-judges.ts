/** What guardrails ask: models of this gateway by ordinary calls, and services of the operator. */
import { toResponse } from '../core/answer.ts'
import type { Services } from '../core/endpoint.ts'
import { readErrorBody } from '../core/dialects/error-body.ts'
import { brokenAnswer } from '../core/errors.ts'
import type { Format } from '../core/format.ts'
import { internalJsonRequest, SignalClient } from '../core/internal-request.ts'
import type { Transport } from '../core/transport.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { openaiModerations } from '../formats/openai/moderations.ts'
import type { JudgeContext, JudgeClients, ModerationVerdict } from '../guardrails/check.ts'
import { guardrailCaller } from '../guardrails/policies.ts'
import type { Json } from '../lib/json/json-values.ts'

const answerBytesMax = 8 * 1024 * 1024
/** Tokens of a verdict: a word, and the categories that some classifiers list after it. */
const verdictTokensMax = 64

interface JudgeClientParts {
  readonly transport: Transport
  callModel(): Services['callModel']
}

/** `callModel` is asked for late: the calls of guardrails pass the same policies as all others. */
export function createJudgeClients({ transport, callModel }: JudgeClientParts): JudgeClients {
  const ask = (format: Format, path: string, body: Json, context: JudgeContext): Promise<Json> =>
    callOf(callModel(), { format, path, body, context: context })
  return {
    async complete(model, text, context) {
      const messages = [{ role: 'user', content: text }]
      const body = { model, messages, stream: false, temperature: 0, max_tokens: verdictTokensMax }
      const answer = await ask(openaiChat, '/v1/chat/completions', body, context)
      const [choice] = (answer.choices ?? []) as { message?: { content?: unknown } }[]
      const content = choice?.message?.content
      if (typeof content !== 'string') throw brokenAnswer(`the model '${model}' answered without a text`)
      return content
    },
    async moderate(model, texts, context) {
      const answer = await ask(openaiModerations, '/v1/moderations', { model, input: [...texts] }, context)
      const results = (answer.results ?? []) as Json[]
      if (results.length !== texts.length)
        throw brokenAnswer(`the model '${model}' judged ${results.length} of ${texts.length}`)
      return results.map(verdictOf)
    },
    async post({ url, headers, body, timeoutMs }) {
      const timeouts = { connectMs: timeoutMs, firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs }
      const head = { url, headers }
      const { response } = transport.send({ method: 'POST', head, body: [Buffer.from(body)], timeouts })
      const answer = await response
      const bytes = await answer.body.bytes(answerBytesMax)
      if (answer.status < 200 || answer.status > 299)
        throw brokenAnswer(`the service answered with status ${answer.status}`)
      return parsed(bytes)
    },
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    throw brokenAnswer('the service answered with something that is no JSON')
  }
}

const verdictOf = (result: Json): ModerationVerdict => ({
  flagged: result.flagged === true,
  categories: (result.categories ?? {}) as Record<string, boolean>,
  scores: (result.category_scores ?? {}) as Record<string, number>,
})

interface Question {
  readonly format: Format
  readonly path: string
  readonly body: Json
  readonly context: JudgeContext
}

/** The tag says in the ledger for which guardrail a model was asked. */
async function callOf(
  callModel: Services['callModel'],
  { format, path, body, context: asking }: Question,
): Promise<Json> {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), asking.timeoutMs)
  try {
    const request = internalJsonRequest({
      path,
      headers: { 'user-agent': 'modelgate-guardrail', 'x-litellm-tags': `guardrail:${asking.guardrail}` },
      // No verdict over another text stands for this one, not even one of the same meaning.
      body: { ...body, caching: false },
      client: new SignalClient(ending.signal, ''),
    })
    const response = toResponse(await callModel(request, guardrailCaller, { format, route: path }))
    const answer = (await response.json()) as Json
    if (response.status === 200) return answer
    throw brokenAnswer(
      `the model of the guardrail answered with status ${response.status}: ${readErrorBody(answer).message}`,
    )
  } finally {
    clearTimeout(timer)
  }
}
