/** Mistakes in guardrails that the schema cannot see: patterns, windows, what a kind needs. */
import { guardrailProblem } from '../../guardrails/compile.ts'
import { fileGuardrails } from '../sections/guardrails.ts'
import type { Finding } from '../reading/reading.ts'
import type { Config } from '../sections/file.ts'

/** Checked here, where the file is read, so that a gateway without guardrails does not load what compiles them. */
export function guardrailFindings(config: Config): Finding[] {
  return fileGuardrails(config).flatMap((one, at) => {
    const problem = guardrailProblem(one)
    return problem ? [{ path: ['guardrails', at, 'proxy_params', ...problem.path], message: problem.message }] : []
  })
}
