/** English words around a person's name: who people are, and what no name is. */

function words(text: string): string[] {
  return text.split(" ");
}

export const RELATIVES = words(
  "mom dad mum mommy daddy mama papa mother father brother sister wife husband grandma grandpa " +
    "grandmother grandfather son daughter aunt uncle cousin niece nephew parents",
);

export const ACQUAINTANCES = words(
  "friend landlord landlady roommate flatmate boss teacher girlfriend boyfriend partner neighbor " +
    "neighbour colleague coworker manager babysitter nanny tutor coach",
);

/** Verbs whose object may be a person: send Mom 50k. */
export const PAYING_VERBS =
  "send|pay|give|wire|transfer|venmo|zelle|lend|remit|forward|tip|repay|reimburse";

/** What money is for: 50k to Jane for lunch. */
export const PURPOSES = words(
  "lunch dinner breakfast brunch coffee rent groceries gas tuition fee fees bills utilities " +
    "gift gifts present presents allowance deposit taxi cab uber ticket tickets birthday wedding " +
    "snack snacks food drinks beer pizza books trip travel hotel insurance tax taxes membership " +
    "dues donation party movie share pocket shipping delivery parking cake flowers medicine " +
    "gym phone internet electricity water subscription netflix laundry haircut bus train flight",
);

/** Words that no name is, wherever they stand. A name may stand on their other side. */
export const SMALL_WORDS: ReadonlySet<string> = new Set([
  // what is said before the matter, and out of politeness
  ...words(
    "um umm uh uhm uhh er erm hmm hm mm ah aha oh ooh oops ouch wow well ok okay k alright right " +
      "sure yes yeah yep yup ya no nope nah hi hello hey heya yo dear so anyway anyways please plz pls " +
      "kindly thanks thank thx cheers sorry pardon excuse wait hold hang second moment sec actually " +
      "really just only maybe perhaps probably basically honestly quickly quick fine good great nice " +
      "cool perfect awesome lovely morning afternoon evening night bye goodbye lol haha hahaha omg",
  ),
  // joining, ordering and changing
  ...words(
    "and or but nor not also too more most less least instead rather than then now next again still " +
      "already yet first firstly secondly last lastly finally later soon asap immediately today tonight " +
      "tomorrow yesterday back over off out up down away altogether together total each every all both " +
      "half double twice once same equal equally different other another rest remaining apiece per via " +
      "make made change add update edit set put switch move replace adjust increase decrease raise lower " +
      "use using let lets get got gets getting do does did doing done go goes going gone come take took " +
      "keep want wants wanted need needs needed like likes love loves try help ask asked tell told say " +
      "said think know see look check confirm cancel stop start finish begin proceed continue repeat " +
      "redo undo mean meant buy bought borrow eat spend cover save invest order book top withdraw " +
      "receive collect owe owes include exclude remove delete clear skip leave find show open close " +
      "cost costs price worth drop plus way ways round around other x note memo day days week weeks month months year",
  ),
  // who is not named, and small grammar
  ...words(
    "i me my mine myself you your yours yourself he him his she her hers it its itself we us our ours " +
      "they them their theirs this that these those here there who whom whose what which when where why " +
      "how everyone everybody anyone anybody someone one ones two three four people person guys folks " +
      "a an the some any few many much little lot lots of as if is am are was were be been being has have " +
      "had having can could will would shall should may might must im ill id ive its thats whats dont " +
      "doesnt didnt wont cant about around exactly roughly approximately almost nearly by on in at with " +
      "without into onto until till before after during since because due able possible directly " +
      "straight right away urgently secretly quietly almost asap amount amounts sum number account " +
      "balance cash money won krw grand thousand million hundred bucks wallet bank card savings " +
      "checking payment payments transaction order request note memo message recipient sender date time " +
      "bill transferring sending paying giving transferred sent paid gave new old extra bit bits additional",
  ),
]);

/** Given names and surnames that are spelt like small words; a sentence may begin with some of these. */
export const LIKE_SMALL_WORDS: ReadonlySet<string> = new Set(words("Bill Will May An Do"));
/** Korean surnames that are small words too, unless a name with a hyphen follows: Oh Se-young. */
export const SURNAMES_LIKE_SMALL_WORDS: ReadonlySet<string> = new Set(words("Oh So No In"));
export const BEGINNINGS: ReadonlySet<string> = new Set(words("Will May An Do"));

/** Before a surname, whatever it is like: Mr. Price. */
export const TITLES: ReadonlySet<string> = new Set(
  words("Mr Mrs Ms Miss Dr Prof Mr. Mrs. Ms. Dr. Prof."),
);

/** Behind these a phrase begins that names no recipient, or another thing. */
export const BREAKS =
  "with|on|by|at|via|using|as|in|because|since|if|when|while|about|after|before|during";

/** Whom a pronoun stands for is not named. */
export const PRONOUNS = words(
  "me myself you him her them us it everyone everybody anyone anybody someone this that these those who whom",
);

/** Small words that stand inside of a name: Ludwig van Beethoven, Bank of America. */
export const NAME_PARTICLES = words("of van von der den de la le di da del bin ibn al el y");
