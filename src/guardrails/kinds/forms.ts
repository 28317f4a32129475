/** The form of a text: its length, and whether an answer is JSON that fits a schema. */
import { schemaFaults } from '../../lib/json/json-schema-faults.ts'
import { schemaProblems } from '../../lib/json/json-schema.ts'
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts } from '../check.ts'
import type { GuardrailParams } from '../params.ts'

const withoutMask = ({ action = 'block' }: GuardrailParams): 'block' | 'flag' => {
  if (action === 'mask') throw new GuardrailProblem(['action'], 'this cannot be masked; use block or flag')
  return action
}

/** Of the question all texts of users and tools together, of the answer each choice. */
export function textLength({ settings }: CheckParts): Check {
  const params = settings.params as GuardrailParams
  const { min_characters: least = 0, max_characters: most = Number.POSITIVE_INFINITY } = params
  const verdict = withoutMask(params)
  if (params.min_characters === undefined && params.max_characters === undefined)
    throw new GuardrailProblem(['max_characters'], 'is missing; give it, or `min_characters`')
  if (least > most) throw new GuardrailProblem(['min_characters'], 'is more than `max_characters`')
  return {
    judge({ stage, contents }) {
      const lengths = contents.map(one => one.length)
      const measured = stage === 'input' ? [lengths.reduce((sum, one) => sum + one, 0)] : lengths
      const wrong = measured.find(one => one < least || one > most)
      if (wrong === undefined) return { verdict: 'pass' }
      const bound = wrong < least ? `at least ${least}` : `at most ${most}`
      return { verdict, reason: `it has ${wrong} characters and must have ${bound}`, found: ['LENGTH'] }
    },
  }
}

/** Answers that are no JSON, or do not fit. Tool calls without content pass. */
export function answerSchema({ settings }: CheckParts): Check {
  const params = settings.params as GuardrailParams
  const { json_schema: schema } = params
  const verdict = withoutMask(params)
  if (!schema) throw new GuardrailProblem(['json_schema'], 'is missing; give the schema of the answer')
  if (settings.modes.some(mode => mode !== 'post_call'))
    throw new GuardrailProblem(['mode'], 'only answers have a schema; use post_call')
  const [fault] = schemaFaults(schema)
  if (fault) throw new GuardrailProblem(['json_schema', ...fault.path], fault.problem)
  const problemOf = (text: string): string | undefined => {
    try {
      return schemaProblems(schema, JSON.parse(text))[0]
    } catch {
      return 'it is no JSON'
    }
  }
  return {
    judges: ['output'],
    judge({ contents }) {
      for (const text of contents) {
        const problem = text.trim() === '' ? undefined : problemOf(text)
        if (problem !== undefined)
          return { verdict, reason: `it does not fit the schema: ${problem}`, found: ['JSON_SCHEMA'] }
      }
      return { verdict: 'pass' }
    },
  }
}
