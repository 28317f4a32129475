/**
 * Pairs of prompts: alike in words and different in meaning, kind by kind, and the same question said in another way.
 */

/** Two prompts; what differs between them is the kind. */
export interface PromptPair {
  readonly kind: string
  readonly one: string
  readonly other: string
}

const frames = {
  amount: [
    'Transfer {} dollars to the account of my landlord',
    'How much tax do I pay on an income of {} euros?',
    'Write a reminder that {} pounds are still owed',
    'Is a budget of {} dollars enough for a week in Rome?',
    'Split a bill of {} euros between four friends',
    'What is {} percent of my monthly rent?',
  ],
  date: [
    'What happened on {} in world history?',
    'Book a table for two on {}',
    'Was {} a working day in Germany?',
    'Summarise the news of {}',
    'Move the meeting to {} please',
  ],
  clock: ['Set an alarm for {}', 'Which trains leave Vienna at {}?', 'Remind me at {} to take my pills'],
  version: ['What changed in Python {}?', 'How do I install version {} of Node?', 'Is release {} still supported?'],
  person: [
    'Who was married to {}?',
    'Write a short biography of {}',
    'Which prizes has {} won?',
    'Draft a letter of thanks to {}',
  ],
  place: [
    'What is the weather like in {} in May?',
    'List three museums in {}',
    'How do I get from the airport to the centre of {}?',
    'What is the capital of {}?',
  ],
  language: ['Translate this sentence into {}', 'How do you say good morning in {}?', 'Write the poem again in {}'],
  negation: [
    'Should I {}take this medicine with milk?',
    'Why do cats {}like water?',
    'Explain when it is {}safe to eat raw eggs',
    'List countries that are {}part of the European Union',
    'Which of these plants are {}poisonous for dogs?',
  ],
  direction: [
    'How can I {} the volume of my speakers?',
    'What happens when a central bank {}s interest rates?',
    'Should I {} shares of this company now?',
    'How do I {} two-factor authentication?',
  ],
  comparison: ['Which cities have {} than a million people?', 'Show orders that cost {} than the average'],
  order: ['Who was the {} person on the moon?', 'Show the {} entry of the list', 'What did the {} emperor of Rome do?'],
  unit: ['Convert the weight of the parcel into {}', 'How many {} is it from Paris to Lyon?'],
  roles: ['Can {} send money to {} without a fee?', 'Does {} owe {} an apology?', 'How far is it from {} to {}?'],
  colour: ['Paint the kitchen wall {}', 'Which flowers are {} in spring?', 'What does a {} light on the router mean?'],
  thing: ['How do I clean a {}?', 'Where can I buy a used {}?', 'What is the best way to store a {}?'],
} as const

const values: Readonly<Record<keyof typeof frames, readonly (readonly [string, string])[]>> = {
  amount: [
    ['100', '250'],
    ['1,200', '12,000'],
    ['40', '14'],
    ['99.50', '95.90'],
    ['3', '30'],
  ],
  date: [
    ['3 May 1998', '5 March 1998'],
    ['2024-06-01', '2024-06-11'],
    ['12 July 2020', '12 July 2021'],
  ],
  clock: [
    ['7 am', '7 pm'],
    ['6:30', '16:30'],
    ['10:15', '10:45'],
  ],
  version: [
    ['3.11', '3.12'],
    ['18', '20'],
    ['2.0.1', '2.1.0'],
  ],
  person: [
    ['Ada Lovelace', 'Mary Shelley'],
    ['Isaac Newton', 'Albert Einstein'],
    ['Marie Curie', 'Pierre Curie'],
  ],
  place: [
    ['Spain', 'Portugal'],
    ['Austria', 'Australia'],
    ['Georgia', 'Armenia'],
  ],
  language: [
    ['French', 'German'],
    ['spanish', 'italian'],
    ['Korean', 'Japanese'],
  ],
  negation: [
    ['', 'not '],
    ['', 'never '],
  ],
  direction: [
    ['increase', 'decrease'],
    ['raise', 'lower'],
    ['buy', 'sell'],
    ['enable', 'disable'],
    ['open', 'close'],
  ],
  comparison: [
    ['more', 'less'],
    ['more', 'fewer'],
  ],
  order: [
    ['first', 'last'],
    ['second', 'third'],
    ['next', 'previous'],
  ],
  unit: [
    ['kilograms', 'pounds'],
    ['miles', 'kilometres'],
    ['grams', 'ounces'],
  ],
  roles: [
    ['Ann', 'Bob'],
    ['Berlin', 'Hamburg'],
    ['the buyer', 'the seller'],
  ],
  colour: [
    ['red', 'blue'],
    ['green', 'orange'],
    ['white', 'black'],
  ],
  thing: [
    ['carpet', 'curtain'],
    ['guitar', 'violin'],
    ['laptop', 'tablet'],
  ],
}

/** Every frame with every pair of values of its kind. */
export function differentPairs(): PromptPair[] {
  return (Object.keys(frames) as (keyof typeof frames)[]).flatMap(kind =>
    frames[kind].flatMap(frame =>
      values[kind].map(([a, b]) => {
        const swaps = frame.split('{}').length === 3
        const fill = (first: string, second: string) => frame.replace('{}', first).replace('{}', second)
        return { kind, one: fill(a, swaps ? b : ''), other: fill(b, swaps ? a : '') }
      }),
    ),
  )
}

/** The same question in other words; facts in braces of the first part stand in the second one too. */
const said: readonly (readonly [string, string])[] = [
  ['What is the capital of {}?', 'Tell me the capital of {}'],
  ['What is the capital of {}?', 'which city is the capital of {}'],
  ['How do I boil an egg?', 'What is the right way to boil an egg?'],
  ['Explain how photosynthesis works', 'Can you explain how photosynthesis works?'],
  ['What is the weather like in {}?', 'How is the weather in {}?'],
  ['How many people live in {}?', 'What is the population of {}?'],
  ['Give me a recipe for apple pie', 'How do you make an apple pie?'],
  ['Why is the sky blue?', 'What makes the sky blue?'],
  ['How do I reset my password?', 'I forgot my password, how can I reset it?'],
  ['Summarise the history of {} in three sentences', 'Give a summary of the history of {} in three sentences'],
  ['What does a red light on the router mean?', 'The router shows a red light, what does that mean?'],
  ['How do I clean a carpet?', 'What is the best way to clean a carpet?'],
  ['Which museums are there in {}?', 'List the museums in {}'],
  ['Who wrote the first novel?', 'Who was the author of the first novel?'],
  ['How can I learn the guitar?', 'What is a good way to learn the guitar?'],
]

/** Pairs that should share an answer. */
export function samePairs(): PromptPair[] {
  const places = ['Spain', 'Vienna', 'New Zealand', 'Brazil']
  return said.flatMap(([one, other]) =>
    (one.includes('{}') ? places : ['']).map(place => ({
      kind: 'same',
      one: one.replace('{}', place),
      other: other.replace('{}', place),
    })),
  )
}
