/** Texts that try to take the place of the operator's instructions: known turns of phrase, each with a weight. */
import { linearPattern } from '../../lib/linear-regex/index.ts'
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts } from '../check.ts'
import { guardrailKeys } from '../params.ts'
import type { GuardrailParams } from '../params.ts'

const instructions = '(?:instructions?|prompts?|rules|directions|guidelines|commands|context)'
const earlier = '(?:previous|prior|above|earlier|preceding|existing|initial|original|system|foregoing)'
const few = '(?:[^\\s.!?]{1,20}\\s{1,3}){0,4}'

/** From OWASP's list of LLM risks (LLM01) and the forms that public collections of attacks repeat. */
const turns: readonly (readonly [name: string, weight: number, pattern: string])[] = [
  [
    'OVERRIDE',
    1,
    `\\b(?:ignore|disregard|forget|override|bypass|skip|neglect)\\s${few}${earlier}\\s${few}${instructions}\\b`,
  ],
  [
    'OVERRIDE',
    1,
    `\\b(?:ignore|disregard|forget)\\s(?:all|everything|anything)\\s${few}(?:above|before|said|told|given)\\b`,
  ],
  [
    'OVERRIDE',
    1,
    `\\b(?:ignoriere|ignorier|vergiss|missachte)\\s${few}(?:vorherigen|bisherigen` +
      `|obigen|vorigen|früheren)\\s${few}(?:anweisungen|regeln|vorgaben|befehle)\\b`,
  ],
  [
    'OVERRIDE',
    1,
    `\\b(?:ignore[zr]?|oublie[zr]?)\\s${few}(?:instructions` +
      `|consignes|règles)\\s${few}(?:précédentes|antérieures|ci-dessus)`,
  ],
  [
    'OVERRIDE',
    1,
    `\\b(?:ignora|ignore|olvida|olvide)\\s${few}(?:instrucciones` +
      `|reglas|órdenes)\\s${few}(?:anteriores|previas|de arriba)`,
  ],
  [
    'LEAK',
    0.8,
    `\\b(?:reveal|print|show|repeat|output|display|leak|tell me|give me|write out|dump)\\s${few}(?:system` +
      `|hidden|initial|secret|original)\\s${few}(?:prompt|instructions?|message|rules)\\b`,
  ],
  ['LEAK', 0.8, `\\b(?:repeat|print|output)\\s${few}(?:everything|all|the words|the text)\\s(?:above|before)\\b`],
  [
    'ROLE',
    0.7,
    '\\byou are (?:now )?(?:going to (?:be|act as) )?(?:dan|stan|dude|evil|unrestricted|unfiltered|jailbroken)\\b',
  ],
  [
    'ROLE',
    0.7,
    `\\b(?:enable|enter|activate|switch to|in)\\s${few}(?:developer|god|jailbreak|dan|debug|sudo)\\smode\\b`,
  ],
  [
    'ROLE',
    0.7,
    `\\b(?:pretend|imagine|act|behave|respond)\\s${few}(?:no|without any` +
      `|without)\\s${few}(?:restrictions?|limitations?|filters?|rules|guidelines|policies|ethics)\\b`,
  ],
  ['ROLE', 0.5, '\\bdo anything now\\b'],
  ['MARKUP', 0.7, '<\\|(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\\|?>?'],
  ['MARKUP', 0.7, '\\[/?(?:INST|SYS)\\]|<</?SYS>>'],
  ['MARKUP', 0.6, '(?:^|\\n)\\s{0,8}#{0,4}\\s{0,2}(?:system|new system) ?(?:prompt|message|instructions?)?\\s{0,2}:'],
  ['EXFILTRATION', 0.7, '!\\[[^\\]]{0,100}\\]\\(https?://[^)\\s]{0,300}[?&=/]\\{'],
  [
    'EXFILTRATION',
    0.6,
    `\\b(?:send|post|forward|upload|exfiltrate)\\s${few}(?:conversation|chat|history` +
      `|credentials|passwords?|api keys?|secrets?)\\s${few}to\\s{1,3}(?:https?://|[^\\s@]{1,64}@)`,
  ],
  [
    'CONCEALMENT',
    0.5,
    `\\b(?:do not|don't|never)\\s${few}(?:tell|inform|mention|reveal|let)\\s${few}(?:user|anyone|human)\\b`,
  ],
]

/** Signs that are not seen: of zero width, of direction, and the alphabet of tags. */
const hidden = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g
const hiddenLeast = 8

/** As the phrases above are written: one form of each letter, one blank between words. */
const plain = (text: string): string => text.replace(hidden, '').normalize('NFKC').replace(/\s+/g, ' ')

const compile = () =>
  turns.map(([name, weight, pattern]) => ({ name, weight, pattern: linearPattern(pattern, { ignoreCase: true }) }))
let compiled: ReturnType<typeof compile> | undefined
/** Compiled once, when a guardrail of this kind is configured: six megabytes. */
const phrases = () => (compiled ??= compile())

/** Adds up what the texts of users and tools hold; each turn of phrase counts once. */
export function promptInjection({ settings }: CheckParts): Check {
  const { threshold = guardrailKeys.threshold.default, action = 'block' } = settings.params as GuardrailParams
  if (action === 'mask') throw new GuardrailProblem(['action'], 'an attack cannot be masked; use block or flag')
  const searched = phrases()
  return {
    judge({ contents }) {
      const found = new Map<string, number>()
      for (const text of contents) {
        for (const form of [plain(text), text])
          for (const [at, { name, weight, pattern }] of searched.entries()) {
            const key = `${name} ${at}`
            if (!found.has(key) && pattern.find(form, { from: 0, isComplete: true }).spans.length > 0)
              found.set(key, weight)
          }
        if ((text.match(hidden)?.length ?? 0) >= hiddenLeast) found.set('HIDDEN_TEXT', 0.6)
      }
      const score = [...found.values()].reduce((sum, one) => sum + one, 0)
      if (score < threshold || found.size === 0) return { verdict: 'pass' }
      return {
        verdict: action,
        reason: 'it reads like an attempt to replace the instructions of this service',
        found: [...new Set([...found.keys()].map(one => one.split(' ')[0]!))],
      }
    },
  }
}
