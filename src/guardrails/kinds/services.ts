/** Services of the operator that judge: Presidio's analyzer, and webhooks in the form of LiteLLM's generic API. */
import { createHmac } from 'node:crypto'
import { brokenAnswer } from '../../core/errors.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { GuardrailProblem } from '../check.ts'
import type { JudgeContext, Check, CheckParts, JudgedSpan, Judgement, Subject } from '../check.ts'
import { guardrailKeys } from '../params.ts'
import type { GuardrailParams } from '../params.ts'

/** Questions to an analyzer at once. */
const parallelMax = 8

function headersOf({ settings }: CheckParts): Record<string, string> {
  const { headers = {} } = settings.params as GuardrailParams
  const { apiKey } = settings.secrets
  return {
    ...headers,
    'content-type': 'application/json',
    accept: 'application/json',
    ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
  }
}

/**
 * `POST {analyzer}/analyze` with `{text, language}` for each text
 * (https://microsoft.github.io/presidio/api-docs/api-docs.html). What it finds is masked here.
 */
export function presidio(parts: CheckParts): Check {
  const params = parts.settings.params as GuardrailParams
  const base = params.presidio_analyzer_api_base ?? params.api_base
  if (base === undefined)
    throw new GuardrailProblem(['presidio_analyzer_api_base'], 'is missing; give the address of the analyzer')
  const config = params.pii_entities_config
  const least = params.presidio_score_threshold ?? guardrailKeys.presidio_score_threshold.default
  const actionOf = (name: string) => (config?.[name]?.toLowerCase() ?? params.action ?? 'mask') as JudgedSpan['action']
  const ask = async (text: string, { timeoutMs }: JudgeContext): Promise<JudgedSpan[]> => {
    const body = JSON.stringify({
      text,
      language: params.presidio_language ?? guardrailKeys.presidio_language.default,
      score_threshold: least,
      ...(config && { entities: Object.keys(config) }),
    })
    const url = `${base.replace(/\/+$/, '')}/analyze`
    const found = await parts.judges.post({ url, headers: headersOf(parts), body, timeoutMs })
    if (!Array.isArray(found)) throw brokenAnswer('the analyzer answered with something that is no list')
    return found.flatMap(one => spanOf(one, text, { least, actionOf }) ?? [])
  }
  return {
    restores: params.output_parse_pii ?? guardrailKeys.output_parse_pii.default,
    async judge({ texts }, context) {
      const distinct = [...new Set(texts)].filter(one => one.trim() !== '')
      const known = new Map<string, JudgedSpan[]>()
      for (let at = 0; at < distinct.length; at += parallelMax) {
        const some = distinct.slice(at, at + parallelMax)
        for (const [index, spans] of (await Promise.all(some.map(text => ask(text, context)))).entries())
          known.set(some[index]!, spans)
      }
      return judged(texts.map(text => known.get(text) ?? []))
    },
  }
}

function judged(spans: readonly (readonly JudgedSpan[])[]): Judgement {
  const all = spans.flat()
  const has = (action: JudgedSpan['action']) => all.some(one => one.action === action)
  const blocked = [...new Set(all.filter(one => one.action === 'block').map(one => one.name))]
  return {
    verdict: has('block') ? 'block' : has('mask') ? 'mask' : has('flag') ? 'flag' : 'pass',
    ...(blocked.length > 0 && { reason: `it holds ${blocked.join(', ')}` }),
    found: all.map(one => one.name),
    spans,
  }
}

/** Python counts characters, this program units of UTF-16. */
function unitOffset(text: string, characters: number): number {
  let at = 0
  for (let left = characters; left > 0 && at < text.length; left--) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return at
}

function spanOf(
  value: unknown,
  text: string,
  { least, actionOf }: { least: number; actionOf(name: string): JudgedSpan['action'] },
): JudgedSpan | undefined {
  if (!isObject(value)) throw brokenAnswer('the analyzer answered with an entry that is no object')
  const { entity_type: name, start, end, score } = value
  if (typeof name !== 'string' || typeof start !== 'number' || typeof end !== 'number')
    throw brokenAnswer('the analyzer answered with an entry without entity_type, start or end')
  if (typeof score === 'number' && score < least) return undefined
  const safeName = name.replace(/\W/g, '_').slice(0, 64)
  const span = { start: unitOffset(text, start), end: unitOffset(text, end) }
  return span.end > span.start ? { ...span, name: safeName, action: actionOf(name) } : undefined
}

/** Milliseconds since 1970 and the body, signed: a copy that is sent again later can be recognized. */
function signatureOf(secret: string, timestampMs: number, body: string): string {
  return `t=${timestampMs},v1=${createHmac('sha256', secret).update(`${timestampMs}.${body}`).digest('hex')}`
}

/**
 * `POST {api_base}/beta/litellm_basic_guardrail_api` with the texts; the answer is `{action, blocked_reason, texts}`
 * (https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api). An address with a path is asked as it is.
 */
export function webhook(parts: CheckParts): Check {
  const { settings, judges, epochMs } = parts
  const params = settings.params as GuardrailParams
  if (params.api_base === undefined)
    throw new GuardrailProblem(['api_base'], 'is missing; give the address of the webhook')
  const given = new URL(params.api_base)
  const isBare = given.pathname === '/' || given.pathname === ''
  const url = isBare ? new URL('/beta/litellm_basic_guardrail_api', given).href : given.href
  const { signingSecret } = settings.secrets
  return {
    async judge(subject, context) {
      const body = JSON.stringify(webhookBody(subject, context))
      const signed = signingSecret && {
        'x-modelgate-signature': signatureOf(signingSecret.reveal(), epochMs(), body),
      }
      const headers = { ...headersOf(parts), ...signed }
      const { timeoutMs } = context
      return webhookJudgement(await judges.post({ url, headers, body, timeoutMs }), subject, params)
    },
  }
}

function webhookBody({ stage, texts, prompt }: Subject, { callId, model, guardrail, caller }: JudgeContext): object {
  return {
    texts,
    input_type: stage === 'input' ? 'request' : 'response',
    litellm_call_id: callId,
    call_id: callId,
    guardrail_name: guardrail,
    model,
    request_data: {
      user_api_key_hash: caller.keyId,
      user_api_key_user_id: caller.userId,
      user_api_key_team_id: caller.teamId,
    },
    ...(stage === 'output' && { prompt }),
  }
}

function webhookJudgement(answer: unknown, { texts }: Subject, { action }: GuardrailParams): Judgement {
  if (!isObject(answer)) throw brokenAnswer('the webhook answered with something that is no object')
  const reason =
    typeof answer.blocked_reason === 'string' ? answer.blocked_reason.slice(0, 500) : 'a webhook refused it'
  switch (answer.action) {
    case 'NONE':
      return { verdict: 'pass' }
    case 'BLOCKED':
      return { verdict: action === 'flag' ? 'flag' : 'block', reason, found: ['BLOCKED'] }
    case 'GUARDRAIL_INTERVENED': {
      const { texts: changed } = answer
      const isList = Array.isArray(changed) && changed.length === texts.length
      if (!isList || changed.some(one => typeof one !== 'string'))
        throw brokenAnswer('the webhook changed texts, and did not answer with one text for each')
      return { verdict: 'mask', texts: changed as string[], found: ['CHANGED'] }
    }
  }
  throw brokenAnswer('the webhook answered with an action that is none of NONE, BLOCKED and GUARDRAIL_INTERVENED')
}
