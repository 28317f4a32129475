/**
 * What a public description (a key of the configuration, a field of the API) must be: a sentence that says something
 * without the row that it stands in, so of at least five words, one of them a verb.
 */

const wordsMin = 5

/** They are verbs wherever they stand. */
const alwaysVerbs = new Set(
  (
    "is isn't are aren't was were be been am has have had do does did done can cannot can't could may might must will " +
    "won't would shall should doesn't don't goes go gone give gives given gets get becomes become begins begin knows know " +
    'known says say said makes make made takes take taken keeps keep kept holds hold held means mean meant tells tell ' +
    'told stands stood chooses choose chosen decides decide belongs belong exists exist lets let needs need refers refer sees see ' +
    'seen understands understand wants want wins win happens happen includes include contains contain remains remain ' +
    'comes come lie lies brings bring finds find sends send sent reads writes write written speaks speak gathers gather counted'
  ).split(' '),
)

/** They are verbs or nouns ("limits of users", "it limits users"): what follows decides. */
const oftenVerbs = (
  'accept act add admit allow answer apply ask authorise authorize bill block bound bring buy call cancel carry catch ' +
  'change charge check clear close combine compare compute connect control convert cool copy cost count cover create cut ' +
  'define delete deliver demand deny describe determine differ disable discover distinguish divide drop emulate enable encode ' +
  'encrypt decrypt end enforce enter estimate exclude expect expire explain export fail fall fetch fill filter fit ' +
  'follow forget format forward free generate grant group guard hash head hide identify ignore import increase infer ' +
  'invite issue join judge label last lead leave lift limit link list listen live load locate lock log look lose lower mail ' +
  'map mark mask match measure meter mix move name narrow notify number offer omit open order overwrite own owns pass pause ' +
  'pay permit pick place point prefer prevent price print produce protect prove provide publish put query raise rank ' +
  'reach receive record reduce refresh refuse regenerate reject relay release remember remove rename renew repeat ' +
  'replace report request require reserve reset resolve restrict restore return revoke rotate route run save scan ' +
  'score search select separate serve set settle share show sign simulate sort split stand start state stay stop store ' +
  'stream submit sum support switch tag test think time total track transcribe translate treat trust try turn unlock ' +
  'update upload use validate verify wait warn watch weigh work wrap'
).split(' ')

/** What can only stand behind a verb, if a word that may be a noun stands before it. */
const afterVerbs = new Set(
  (
    'a an the its their it them this that these those all any each every both either no none another other others ' +
    'one two several many more most less only again also as anew first how what whether when where which who whose ' +
    'why nobody nothing something everything itself themselves at too you your here there up out off on over'
  ).split(' '),
)

const forms = new Set(oftenVerbs.flatMap(verb => [verb, thirdPerson(verb)]))

function thirdPerson(verb: string): string {
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`
}

/** What is wrong with a description, with the remedy; undefined = nothing. Names in backticks count as one word. */
export function descriptionProblem(text: string): string | undefined {
  const words = text.replaceAll(/`[^`]*`/g, '_').match(/[\p{L}\p{N}_][\p{L}\p{N}_'’-]*/gu) ?? []
  if (words.length < wordsMin) return `has fewer than ${wordsMin} words; write a sentence that can be read alone`
  return words.some((_, at) => isVerb(words, at))
    ? undefined
    : 'has no verb; write a sentence that can be read alone (tests/support/descriptions.ts lists the verbs)'
}

/** Behind these a word is a noun that could be a verb elsewhere. */
const beforeNouns =
  /^(?:a|an|the|its|their|your|our|this|these|those|of|for|in|by|with|per|from|to|on|at|as|than|and|or|many|much|few|most|several|all|any|no|each|every)$/i
const beforeVerbs = /^(?:that|which|who|it|they|you|we|to)$/i
const clauseBegins = /^(?:that|which|who|whom|what|where|when|how|whether|if|while|because)$/i
const prepositions = /^(?:of|for|in|by|with|per|from|to|on|as|than|and|or|after|before|under|without|beside)$/i

function isVerb(words: readonly string[], at: number): boolean {
  const word = words[at]!.toLowerCase()
  if (alwaysVerbs.has(word)) return true
  if (!forms.has(word)) return false
  const before = words[at - 1] ?? ''
  if (beforeVerbs.test(before)) return true
  if (beforeNouns.test(before)) return false
  // "The service that the kind asks", "how long a text works".
  if (words.slice(0, at).some(one => clauseBegins.test(one))) return true
  const after = words[at + 1]
  // "Requests a minute", "tokens a day"; a sentence without a clause does not end with its verb.
  if (after === undefined || (after === 'a' && units.test(words[at + 2] ?? ''))) return false
  // A name in backticks is an object: "names `x`". "Conversations share answers."
  return after === '_' || afterVerbs.has(after.toLowerCase()) || (/s$/.test(before) && !prepositions.test(after))
}

const units = /^(?:second|minute|hour|day|week|month|year|call|request)$/
