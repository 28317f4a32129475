/**
 * An upstream that speaks the dialects of all vendors, with faults on demand and a truth log. See
 * docs/simulator.md.
 */
export { awsKeys } from './aws-authorization.ts'
export { faultKinds } from './faults.ts'
export type { FaultKind, FaultName } from './faults.ts'
export { runSimulator } from './run.ts'
export type { Matcher, MatcherLike, ScriptedReply, ScriptRequest } from './script.ts'
export { startSimulator } from './server.ts'
export type { Simulator, SimulatorOptions } from './server.ts'
export type { Finish, TruthEntry, TruthLog, TruthTotals } from './truth.ts'
