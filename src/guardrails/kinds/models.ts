/** Models of this gateway that judge: safety classifiers ("guard models") and moderation models. */
import { GatewayError } from '../../core/errors.ts'
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts, Subject } from '../check.ts'
import type { GuardrailParams } from '../params.ts'

function verdictOf(params: GuardrailParams): 'block' | 'flag' {
  const { action = 'block' } = params
  if (action === 'mask') throw new GuardrailProblem(['action'], 'a judgement cannot be masked; use block or flag')
  if (params.model === undefined) throw new GuardrailProblem(['model'], 'is missing; name a model of this gateway')
  return action
}

/** The one user message of a guard model in its three forms: of a prompt, of an answer, of both. */
function guardMessage({ prompt, response }: { prompt?: string | undefined; response?: string | undefined }) {
  if (response === undefined) return prompt ?? ''
  return `Human user:${prompt ?? ''}\nAI assistant:${response}.`
}

/** Asks about the prompt, and about each choice of the answer. */
export function guardModel({ settings, judges }: CheckParts): Check {
  const params = settings.params as GuardrailParams
  const verdict = verdictOf(params)
  const messages = ({ stage, prompt, contents }: Subject): string[] => {
    if (stage === 'input') return [guardMessage({ prompt })]
    const withPrompt = params.input_mode === 'response' ? {} : { prompt }
    return contents.map(response => guardMessage({ ...withPrompt, response }))
  }
  return {
    isPaid: true,
    async judge(subject, context) {
      const texts = messages(subject).filter(one => one.trim() !== '')
      const answers = await Promise.all(texts.map(text => judges.complete(params.model!, text, context)))
      const verdicts = answers.map(one => /^\W*(safe|unsafe)\b/i.exec(one)?.[1]?.toLowerCase())
      if (verdicts.includes(undefined))
        throw new GatewayError('upstream-broken', `the guard model '${params.model}' answered neither safe nor unsafe`)
      if (!verdicts.includes('unsafe')) return { verdict: 'pass' }
      return { verdict, reason: 'a safety model calls it unsafe', found: ['UNSAFE'] }
    },
  }
}

/** Asks about every text of users and tools, and every choice of the answer. */
export function moderationModel({ settings, judges }: CheckParts): Check {
  const params = settings.params as GuardrailParams
  const verdict = verdictOf(params)
  const { categories } = params
  return {
    isPaid: true,
    async judge({ contents }, context) {
      const texts = contents.filter(one => one.trim() !== '')
      if (texts.length === 0) return { verdict: 'pass' }
      const found = new Set<string>()
      for (const one of await judges.moderate(params.model!, texts, context)) {
        if (categories) {
          for (const [name, least] of Object.entries(categories)) if ((one.scores[name] ?? 0) >= least) found.add(name)
        } else if (one.flagged)
          for (const [name, isSo] of Object.entries({ flagged: true, ...one.categories })) if (isSo) found.add(name)
      }
      found.delete(found.size > 1 ? 'flagged' : '')
      if (found.size === 0) return { verdict: 'pass' }
      return { verdict, reason: `a moderation model found ${[...found].join(', ')}`, found: [...found] }
    },
  }
}
