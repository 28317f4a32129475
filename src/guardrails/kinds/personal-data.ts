/** Personal data and secrets, found by their form and their check digits. */
import { linearPattern } from '../../lib/linear-regex/index.ts'
import type { LinearPattern } from '../../lib/linear-regex/index.ts'
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts } from '../check.ts'
import { guardrailKeys } from '../params.ts'
import type { GuardrailParams } from '../params.ts'
import { entities, secretNames } from '../personal-data/entities.ts'
import type { Action, Rule } from '../scanner.ts'

const patterns = new Map<string, LinearPattern>()

/** Compiled once for all guardrails. */
function patternOf(name: string, pattern: string): LinearPattern {
  let known = patterns.get(name)
  if (!known) patterns.set(name, (known = linearPattern(pattern)))
  return known
}

/** One rule for each kind of data, with its own action. */
export function personalData({ settings }: CheckParts): Check {
  const {
    pii_entities_config: config,
    action = 'mask',
    output_parse_pii: restores = guardrailKeys.output_parse_pii.default,
  } = settings.params as GuardrailParams
  const isSecretsOnly = settings.kind === 'secrets' || settings.kind === 'hide-secrets'
  const wanted: readonly (readonly [string, Action])[] = config
    ? Object.entries(config).map(([name, one]) => [name, one.toLowerCase() as Action])
    : (isSecretsOnly ? secretNames : [...entities.keys()]).map(name => [name, action])
  const rules = wanted.map(([name, ownAction]): Rule => {
    const entity = entities.get(name)
    if (!entity)
      throw new GuardrailProblem(
        ['pii_entities_config', name],
        `is no kind of data that is found here; those are ${[...entities.keys()].join(', ')}; names of persons and ` +
          'places are found by a guardrail of the kind `presidio`',
      )
    const { check } = entity
    return {
      name,
      guardrail: settings.name,
      pattern: patternOf(name, entity.pattern),
      action: ownAction,
      ...(check && { check: (text, span) => check(text, span) }),
    }
  })
  if (rules.length === 0) throw new GuardrailProblem(['pii_entities_config'], 'names nothing; name at least one kind')
  return { rules, restores }
}
