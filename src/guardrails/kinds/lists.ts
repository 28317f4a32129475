/** Words, topics and patterns that an operator lists. */
import { linearPattern, literalPattern, PatternError } from '../../lib/linear-regex/index.ts'
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts, Judgement, Subject } from '../check.ts'
import { guardrailKeys, topicKeys } from '../params.ts'
import type { GuardrailParams } from '../params.ts'
import { plainUnits } from '../plain-text.ts'
import { Scanner } from '../scanner.ts'
import type { Rule } from '../scanner.ts'

/** Refuses, masks or records every listed word. */
export function wordList({ settings }: CheckParts): Check {
  const { words, action = 'block', ...rest } = settings.params as GuardrailParams
  const { whole_words: wholeWords = guardrailKeys.whole_words.default } = rest
  if (!words) throw new GuardrailProblem(['words'], 'is missing; list the words')
  // Texts are read as they are seen: a word that is written in another way is looked for in the plain one, too.
  const all = [...new Set(words.flatMap(word => [word, plainUnits(word)?.text ?? word]))]
  const pattern = literalPattern(all, { ignoreCase: rest.case_sensitive !== true, wholeWords })
  return {
    rules: [{ name: 'WORD', guardrail: settings.name, pattern, action }],
    restores: rest.output_parse_pii ?? guardrailKeys.output_parse_pii.default,
  }
}

/** The operator's own patterns, in linear time. */
export function patternList({ settings }: CheckParts): Check {
  const { patterns, action = 'block', case_sensitive: isExact, ...rest } = settings.params as GuardrailParams
  if (!patterns) throw new GuardrailProblem(['patterns'], 'is missing; list patterns with their names')
  const rules = patterns.map(({ name, pattern, action: own }, at): Rule => {
    try {
      return {
        name,
        guardrail: settings.name,
        pattern: linearPattern(pattern, { ignoreCase: isExact === false }),
        action: own ?? action,
      }
    } catch (error) {
      if (error instanceof PatternError) throw new GuardrailProblem(['patterns', at, 'pattern'], error.message)
      throw error
    }
  })
  return { rules, restores: rest.output_parse_pii ?? guardrailKeys.output_parse_pii.default }
}

/** Refuses texts with several words of one topic. */
export function topicList({ settings }: CheckParts): Check {
  const { topics, action = 'block', case_sensitive: isExact = false } = settings.params as GuardrailParams
  if (!topics) throw new GuardrailProblem(['topics'], 'is missing; list topics with their words')
  if (action === 'mask') throw new GuardrailProblem(['action'], 'a topic cannot be masked; use block or flag')
  const compiled = topics.map(({ name, words, threshold = topicKeys.threshold.default }) => {
    const pattern = literalPattern(words, { ignoreCase: !isExact, wholeWords: true })
    const rule: Rule = { name: 'WORD', guardrail: settings.name, pattern, action: 'flag' }
    return { name, threshold, scanner: new Scanner([rule]) }
  })
  const judge = ({ contents }: Subject): Judgement => {
    for (const { name, threshold, scanner } of compiled) {
      const said = new Set<string>()
      for (const text of contents)
        for (const { start, end } of scanner.findAll(text)) said.add(text.slice(start, end).toLowerCase())
      if (said.size >= threshold) return { verdict: action, reason: `it is about ${name}`, found: [name] }
    }
    return { verdict: 'pass' }
  }
  return { judge }
}
