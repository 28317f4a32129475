/**
 * An upstream that speaks OpenAI's and Anthropic's dialects, with faults on demand and a truth log. See
 * docs/simulator.md.
 */
export { faultKinds } from './faults.ts'
export type { FaultKind, FaultName } from './faults.ts'
export { runSimulator } from './run.ts'
export type { Matcher, MatcherLike, ScriptedReply, ScriptRequest } from './script.ts'
export { startSimulator } from './server.ts'
export type { Simulator, SimulatorOptions } from './server.ts'
export type { Finish, TruthEntry, TruthLog, TruthTotals } from './truth.ts'
