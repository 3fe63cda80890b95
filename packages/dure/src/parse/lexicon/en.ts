import type { Lexicon } from "./index.ts";
import { pattern } from "./patterns.ts";
import { eachWord, ordinal, phrases } from "./phrases.ts";

/** English. Apostrophes inside of words are dropped, in phrases and in patterns: dont, its. */

// --- what is done

const IT = "it, that, this";
const SEND_IT = `
  ${eachWord(
    "send, pay, transfer, wire",
    `${IT}, the money`,
  )}, send, pay, transfer, send it off, send the payment, send it over, send away
`;
const DO_IT = `
  do it, do that, do this, do so, do the transfer, make it happen, make the transfer,
  make the payment, make this transfer, go ahead, go right ahead, go ahead with it,
  go ahead with that, go ahead and send it, go ahead and do it, go ahead and send,
  go ahead and pay, go ahead and confirm, go ahead and transfer it, go for it, proceed,
  proceed with it, proceed with the transfer, proceed with the payment, proceed with that,
  ${SEND_IT}, ship it, submit,
  ${eachWord("submit, process, execute, run, book, order, complete, finalize", IT)},
  ${eachWord("approve, accept, allow, authorize, confirm", IT)},
  execute, process the transfer, complete the transfer, process the payment, complete the payment,
  submit the transfer
`;
const CONFIRMS = `
    confirm, confirmed, correct, approve, approved, accept, accepted, agree, agreed, allow,
    allowed, authorize, authorized, granted, permission granted, approve this transfer,
    ${eachWord("confirm, approve, authorize, allow", "the transfer, this transfer, the payment")}
  `;
const I_SAY = `
    ${eachWord(
      "i confirm, i can confirm, i approve, i accept, i agree, i authorize, i allow",
      `${IT}, the transfer`,
    )}, i confirm, i can confirm, i do confirm, i approve, i approve of it, i accept, i agree,
    i do agree, i authorize, i do, i am sure, im sure, im certain, i am, i would, i want to,
    i would like that, id like that, id love that, i want that, i want it, id like to,
    i would like to, id like to proceed, i want to proceed, i would like to proceed,
    i want to send it, id like to send it, i wish to proceed, i want to go ahead,
    i want to do it
  `;

// --- yes

const YES_WORDS = `
    yes, yes yes, yess, yas, yh, bet, yeah, yeah yeah, yeahh, yea, yeh, yah, ya, yep, yep yep, yepp, yup,
    yup yup, yupp, yessir, yes sir, y, aye, aye aye, affirmative, affirm, ok, okay, okey, okie,
    oki, okk, kk, ok ok, okey dokey, okie dokie, okey dokie, okie dokey, okey doke, alright,
    all right, alrighty, alright then, sure, sure sure, sure thing, for sure, surely, certainly,
    of course, ofc, absolutely, definitely, totally, indeed, exactly, precisely, roger that,
    by all means, you bet, you got it, naturally, why of course, very well, fine, perfect,
    excellent, lgtm, thumbs up, no objections, no objection, please, true
  `;
const GOOD = "good, great, right, correct, fine, perfect, ok, okay, alright, accurate, excellent";
const LOOKS = `
  ${eachWord(
    `
      looks, it looks, that looks, this looks, everything looks, all looks, it all looks, sounds,
      that sounds, it sounds
    `,
    `${GOOD}, good to me, right to me, great to me, fine to me, correct to me, ok to me`,
  )},
        ${eachWord(
          "that is, it is, this is, all, everything is, everythings, yes it is",
          `${GOOD}, exactly right, all right`,
        )}, ${eachWord(
          "thats, its",
          "right, correct, perfect, accurate, good, great, exactly right",
        )},
        ${eachWord(
          "youre, you are, thats exactly, thats absolutely, exactly, absolutely, quite, thats all",
          "right, correct",
        )},
        right, good, good to go, we are good to go, were good to go, im good to go, thats fine,
        thats the one, that is the one, thats what i want, thats what i wanted,
        thats what i meant, it is, it does, they are, sounds like a plan, that works,
        that works for me, works for me, this works, that will do, thatll do, fine by me,
        fine with me, ok by me, ok with me, okay with me, good with me, im ok with that,
        im okay with that, im fine with that, im happy with that, im good with that, a thousand times yes,
        thats fine by me, thats fine with me, thats ok with me, all set, all of that is correct,
        nothing to change, no changes, all good, all good here, all good on my end,
        dont see why not, i dont see why not, cant see why not
      `;
const LETS = `
    lets go, lets go ahead, lets go for it, lets do it, lets do this, lets do that, lets proceed,
    lets send it, go go, go go go, just do it, you may proceed, you can proceed,
    you may go ahead, you can go ahead, you can send it, you may send it, you can do it,
    make it so, lets roll, ok go, please do, go on then, you have my approval, you have my permission, be my guest,
    have at it
  `;
const PLEASED = `
  please and thank you, if you please, yes thank you, yes thanks, yes please thank you,
  yes please thanks
`;

// --- no

const NO = `
    no, nope, nop, nah, naw, nay, nuh, no no, nono, no way, no sir, no maam, no please, n,
    negative, hell no, heck no, oh hell no, god no, absolutely not, definitely not, certainly not,
    of course not, not at all, no chance, not really, i dont think so, i do not think so,
    no i dont, no i do not, no i am not, no im not, i said no, i say no, thats a no, its a no,
    that is a no, big no, hard no, not a chance, no good, not good, not ok, not okay, decline,
    declined, reject, rejected, refuse, refused, deny, denied, disapprove, disapproved,
    not approved, disagree,
    ${eachWord("i", "decline, reject, refuse, deny, disapprove, disagree, object")},
    ${eachWord("i dont, i do not", "agree, approve, accept, confirm")}, i disagree with that,
    ${eachWord(
      "i decline, i reject, i refuse, decline, reject, refuse, deny",
      `${IT}, the transfer, the payment`,
    )}
  `;

const NEGATORS = `
    dont, do not, please dont, please do not, dont ever, never, never ever, i dont want to,
    i do not want to, i dont wanna, i wont, i will not, i cant, i cannot, i can not, i dont,
    i do not, im not going to, i am not going to, were not going to, id rather not,
    i would rather not, id better not, rather not, better not, id prefer not to,
    i would prefer not to, i prefer not to, i dont feel like, lets not, let us not, we shouldnt,
    i shouldnt, i should not, i no longer want to, i decided not to, ive decided not to,
    no need to, i dont need to, i no longer need to, i didnt mean to, i did not mean to,
    you shouldnt, please never, i dont think we should, i dont think i should,
    i dont think you should
  `;
const NEGATED_DEEDS = `
    ${DO_IT},
    ${eachWord("send, pay", "him, her, them, anything, any money, money, yet, anything yet")},
    send it yet, send it now, send it there, send it anymore, send him anything,
    send her anything, send them anything, do anything, do it yet, do that yet, do it anymore,
    transfer anything, transfer money, transfer any money, continue, continue with it,
    go through with it, go through with this, go through with that, confirm, confirm anything,
    confirm yet, approve, accept, allow, bother, make it, make this, you dare
  `;
const NOT_DOING = eachWord(
  "im not, i am not, were not, no, not",
  `
    sending it, sending that, sending anything, sending, doing it, doing this, doing that,
    paying, paying it, going ahead, confirming, confirming it, approving it, interested,
    comfortable with that, comfortable with this, ready, ready yet, sure about that anymore
  `,
);
const PUT_OFF = `
    no thanks, no thank you, no thx, no ty, no im good, im good thanks, im good thank you,
    no thanks im good, never mind, nevermind, nvm, never mind that, never mind then, nm,
    forget it, forget about it, forget that, forget about that, forget this, just forget it,
    scratch that, drop it, leave it, leave it be, let it go, leave it alone, im going to pass,
    i think ill pass, skip, skip it, skip this, skip that, pass, ill pass, i pass, not now,
    not yet, not today, not right now, not this time, not anymore, not tonight,
    not at the moment, not for now, not this one, later, maybe later, some other time,
    another time, next time, maybe next time, maybe another time, maybe some other time,
    ill do it later, i will do it later, do it later, lets do it later, lets do this later,
    some time later, later please, later maybe, ill do it another time, ill come back later,
    ill come back to it, ask me later, no need, no need anymore, not needed, not needed anymore,
    no longer needed, its not needed, not necessary, thats not necessary, that is not necessary,
    its not necessary, i want it cancelled, i want this cancelled, i want that cancelled,
    its cancelled, i no longer need it, i no longer want it, maybe not, probably not,
    i guess not, ${eachWord(
      "i dont want, i do not want, i dont need, i dont want you to send",
      `${IT}, it anymore, this anymore, that anymore, anything, to anymore`,
    )}, dont want it, dont want to, i changed my mind, ive changed my mind,
    i have changed my mind, changed my mind, i changed my mind about it, i take it back,
    i take that back, take it back, send nothing, pay nothing, transfer nothing, do nothing,
    send no money, hold off, hold off on it,
    hold off on that, hold off for now, lets hold off, put it on hold, put that on hold,
    thats enough, enough, quit it, undo that
  `;

// --- cancel

const CANCEL_IT = `
    ${IT}, the transfer, this transfer, that transfer, my transfer, transfer,
    the payment, this payment, my payment, that payment, payment, the order, my order,
    this order, the request, my request, this request, the transaction, this transaction,
    this thing, this one, that one, the whole thing, the, my, it immediately, it now, now,
    right now, immediately, please
  `;
const CANCELS =
  "cancel, stop, abort, scrap, revoke, halt, terminate, undo, withdraw, kill, call off";
const CANCELLING = `
  ${eachWord(CANCELS, CANCEL_IT)},
  ${eachWord("call", "it off, this off, that off, the transfer off, off the transfer")}, cancel,
  stop, abort, halt, cancel out, back out, cancelled, canceled, cancel cancel, stop stop,
  stop right there, cancelar
`;
const WISHES = `
    i want to, id like to, i would like to, i wanna, i wish to, i need to, i have to, ill,
    i will, im going to, lets, let me, let us, please, please just, just, go ahead and,
    please go ahead and, you can, you may, i think ill, i think i will, i think id like to,
    i decided to, i prefer to, id prefer to, better, we should, i should, id rather,
    i would rather, i might just
  `;

export const EN: Lexicon = {
  yes: phrases(YES_WORDS, CONFIRMS, I_SAY, LOOKS, PLEASED),
  goAheads: phrases(DO_IT, LETS, eachWord("please", `${DO_IT}, do`)),
  halfYes: phrases(
    `
      k, go, good, nice, cool, great, awesome, gotcha, got it, understood, i see, i think so,
      i guess so, i suppose so, whatever, mhm, uh huh, mm hmm
    `,
  ),
  no: phrases(NO),
  putOff: phrases(PUT_OFF, NOT_DOING),
  undone: new Set(),
  negators: phrases(NEGATORS),
  negatedDeeds: phrases(NEGATED_DEEDS),
  wishes: phrases(WISHES),
  cancel: phrases(CANCELLING, "i want out, i want to back out, im backing out, i back out"),
  removesIt: phrases(eachWord("get rid of, remove, delete, drop", IT)),
  requests: phrases(
    `
      can you, could you, would you, will you, can you please, could you please,
      would you please, please can you, please could you, can we, could we, can i, could i,
      may i, can you just, could you just, can we just, can i just, can we please, can i please
    `,
  ),
  cancelRequests: phrases(
    `
      would you mind cancelling, would you mind canceling, would you mind cancelling it,
      would you mind canceling it, would you mind cancelling that, mind cancelling that
    `,
  ),
  continue: phrases("continue, please continue, continue please, keep going, carry on, go on"),
  fillers: phrases(
    `
      um, umm, uh, uhh, er, oh, ooh, ah, aha, hey, hi, hello, well, ok so, then, well then,
      oh well, cool, great, awesome, nice, got it, gotcha, understood,
      yo, ahh, ohh, no worries, no problem
    `,
  ),
  hesitations: phrases(
    `
      wait, wait wait, oh wait, hold on, hang on, one sec, just a sec, sorry, im sorry,
      i am sorry, so sorry, apologies, my apologies, pardon, actually, but, oops, whoops, hmm,
      hm, just, please, on second thought, on second thoughts, come to think of it,
      you know what, yknow what, i think, i guess, maybe, honestly, sadly, unfortunately, oh god,
      omg, argh, ugh, thanks but, thank you but, thanks, thank you, my bad, my mistake,
      i made a mistake, i made an error, that was a mistake, it was a mistake, by mistake,
      to be honest, tbh, for now, right now, today, ok, okay, really, seriously, instead, quick, now, and, look, listen,
      for me, im good, im ok, im okay, im fine, thats ok, thats okay, its ok, its okay, its fine,
      thats fine, not sure, im not sure, i am not sure
    `,
  ),
  manners: phrases("just, simply, then, so, kindly"),
  acknowledges: phrases(
    `
      yes, yeah, yep, yup, ok, okay, sure, alright, all right, fine, right, good, got it,
      understood, of course
    `,
  ),
  objects: phrases(
    "the transfer, this transfer, the payment, the request, this, that, this one, that one, it",
  ),
  politeness: phrases(
    `
      please, pls, plz, sir, maam, dear, love, boss, man, bro, dude, mate, my friend, then, kindly
    `,
  ),
  all: phrases(
    `
      all, all of it, all of them, all of that, all of this, all of those, them all, it all,
      everything, everything else, the rest, the rest of them, the rest too, the others,
      the other ones, both, both of them, them both, every one, any of them, any of those, either of them,
      all transfers, all the transfers,
      all payments, the remaining ones, the whole lot
    `,
  ),
  choosing: phrases(
    `
      the, to, its, it is, i want, i want the, ill take, ill take the, i choose, i choose the,
      i pick, i pick the, pick, choose, go with, lets go with, ill go with, make it, send it to,
      i meant, i mean, id like, one for, please use, use, thats, with
    `,
  ),
  declines: phrases(
    `
      none, nothing, no thanks, no thank you, no im good, im good, im fine, im ok, im okay, skip,
      skip it, skip this, skip that, skip this one, ill skip, ill skip it, ill skip this, pass,
      ill pass, i pass, no need, not needed, not necessary, nothing to add, nothing else, n a,
      empty, blank, without, without it, without one, without any, i dont need, i dont need one,
      i dont need any, i dont want, i dont want one, i dont want any, i dont have one,
      i dont have any, dont need one, dont have one, dont have any, dont add, dont add one,
      ${eachWord("leave, keep, leave it, leave that, leave this, keep it", "empty, blank, out")}
    `,
  ),
  skips: phrases(
    "skip, skip it, skip this, skip that, skip this one, ill skip it, pass, ill pass, i pass",
  ),
  neither: phrases(
    `
      neither, neither one, neither of them, neither of those, neither of these, none,
      none of them, none of those, none of these, none of the above, not either, no_body, no_one,
      someone else, nothing, not one of them, no neither, no none
    `,
  ),

  noYes: [
    /^(?:oh|ooh|ohh|ah|ahh|aha) (?:ok|okay|alright|indeed|really)$/u,
    pattern`
      \b(?:yeah|yea|yah|ya|yep|yup|oh|sure|oh sure|ok) (?:sure )?right\b|\bright (?:sure|yeah)\b|
      \bas if\b
    `,
    pattern`
      \b(?:yeah yeah yeah|(?:yeah|ok|sure) fine)\b|\boh (?:sure|great|perfect|fine|good|
      excellent)\b
    `,
  ],
  asksWithWords: [/^(?:what|why|how|when|who|where|which)\b|\b(?:fees?|limit|balance)\b/u],
  asksByForm: [
    pattern`
      ^(?:did|does|do(?! (?:it|that|this|so)\b)|is|are|can|could|will|would|should|was|were|has|
      have|had|am|may|shall)\s
    `,
  ],
  changes: [
    pattern`
      \b(?:change|edit|update|modify|amend|adjust|switch|replace|make (?:it|that)|raise|lower|
      increase|reduce|put)\b
    `,
    /\b(?:correct|fix) (?:it|the|that|this|my)\b/u,
    /\b(?:send|transfer|pay|give|wire|move) (?:it|that|this) to \p{L}/u,
    pattern`
      \b(?:recipient|receiver|payee|beneficiary|amount|sum|date|name|account)(?: number)?(?:s|
      :| is| was| should be| to| =)? (?!(?:is|was|right|correct|good|fine|ok|okay|looks?|sounds?|
      wrong|and|or|of|in|on|with|for)\b)[\p{L}\d₩][^?]*$
    `,
    /\buse \p{L}+(?:s)? (?:account|number|name)|\buse \d/u,
  ],
  corrects: [
    pattern`
      \b(?:instead|rather(?! not)|actually|i meant?|i said (?!no\b|yes\b|not\b|dont\b|do\b|so\b|
      it\b|that\b)|should be|should have been|supposed to be|meant to be|wrong|mistaken?|typo|
      correction)\b
    `,
    pattern`
      \b(?:wait|hold on|hang on|oops|whoops|scratch that|no no)\b[,.!~]* (?!(?:a|an|for|up|until|
      till|what|why|how|please|sec|second|minute|moment)\b)[\p{L}\d₩]
    `,
    /\bnot (?:to|for|from) (?!(?:be|send|pay|transfer|do|wire|go|worry|mention)\b)\p{L}/u,
    /\bnot (?:\p{L}+|[\d,.]+\p{L}*)(?: \p{L}+)?,? but\b/u,
    /^(?:(?:oh|no|sorry|wait),? ){0,3}not (?!(?:now|yet|today|sure|really|ok|okay|good|right)\b)\p{L}+(?: \p{L}+)?, ?\p{L}/u,
    pattern`
      (?:[\p{L}\d],|(?:^|[,;] )(?:its |it is |to )?[\p{L}\d,]+) not (?:to |for )?(?!(?:sure|now|
      yet|today|ok|okay|good|right|correct|really|bad|it|that|this|fine|ready|here|there|so|a|
      the|at|anymore|necessary|needed|interested|going|send|sending|pay|now|
      tonight)\b)[\p{L}\d,]+(?: \p{L}+)?[.!]*$
    `,
  ],
  bareValues: [],
  takesBack: [
    pattern`
      ^[\s,.…~!?–—-]*(?:(?:oh |um |uh |hmm |sorry |and )?(?:no|nope|wait|hold on|hang on|oops|whoops|sorry|
      actually|i meant?|make (?:that|it)|scratch that|correction|rather)[\s,.…~!?–—-]+)+(?:the |an? |to )?$
    `,
  ],
  notes: [/\bmemo\b|\bnote (?:that|saying|it)\b/u],
  adds: [
    pattern`
      \b(?:also|as well|plus|in addition|additionally|additional|one more|two more|extra|add|
      on top of (?:that|it)|likewise|same (?:for|to)|more to)\b
    `,
    pattern`
      \btoo\b(?! (?:much|many|late|little|few|high|low|big|small|expensive|soon|early|long|fast|
      slow|bad|hard|old)\b)
    `,
    /\banother (?:\d|one|transfer|payment|₩|\p{L}+ (?:to|for)\b)/u,
    pattern`
      ^(?:oh )?and (?!(?:then|no|so|why|how|what|when|if|the|is|that|it|yes|please|
      thanks)\b)[\p{L}\d]
    `,
    /\band (?:also |then |another )?(?:₩?\d|to \p{L}|send\b|pay\b|transfer\b|for \p{L})/u,
    /\b(?:while|since) (?:youre|ur|you are|were|im) (?:at it|about it)\b/u,
  ],
  removes: [
    pattern`
      \b(?:remove|delete|erase|exclude|omit|leav(?:e|ing) out|tak(?:e|ing) out|take off|except|
      excluding|removing|get rid of|cross out)\b
    `,
    /\b(?:leave|take|scratch|cross|strike) \p{L}+(?: \p{L}+)? (?:out|off)\b/u,
    pattern`
      (?<!\bdo )\bwithout\b(?! (?:delay|fail|further|question|questions|problem|problems|doubt|
      hesitation|asking|you|me|a doubt)\b)
    `,
    /\bdrop\b(?! (?:it|by|me|in|off|a line|that|this)\b)(?! ?[.!]*$)/u,
    /\bskip\b(?! (?:it|this|that|to)\b)(?! ?[.!]*$)/u,
  ],
  swaps: [
    pattern`
      \b(?:swap|swapped|swapping|other way (?:a)?round|vice versa|interchange|reverse (?:them|
      the two|it|those|that)|reversed|(?:the|its the|in) reverse(?! order)|switch (?:them|
      the two|those|both|it around|around|places|the names|the amounts)|switched around|
      flip (?:them|it|the two|those)|flipped|exchange (?:them|the two)|mixed (?:them|it|
      those) up|mixed up|got (?:them|it) backwards|backwards?)\b
    `,
  ],
  negates: [
    pattern`
      (?<!\bwhy (?:\p{L}+ )?)\b(?:dont|do not|never|not to|(?:i|we|you|lets|let us) (?:wont|
      will not|cant|cannot|can not|shouldnt|should not|mustnt|must not|wouldnt|would not|
      no longer want to|decided not to|dont want (?:you )?to|do not want (?:you )?to|
      dont want it to|did ?nt mean to|did not mean to|am not going to|are not going to)|
      im not going to|were not going to|youre not to|lets not|let us not|rather not|better not|
      no need to|no longer want to|please not) (?:ever |even |just |actually |please |really |
      be able to |have to |you )?(?:send|pay|transfer|wire|give|remit|proceed|go ahead|
      go through|process|submit|execute|confirm|approve|authori[sz]e|allow|do (?:it|that|this|so|
      anything)|do the|make (?:the|this|that|any|a) (?:transfer|payment)|book|order|buy|run|
      apply|reserve|register|enroll|subscribe|sign (?:me |us )?up|schedule|reschedule|rent|refund|
      issue|file|complete|let (?:it|this|that) (?:go|happen)|move (?:the|any|my) money)\b
    `,
    pattern`
      (?:\b(?:im|i am|were|we are) not|\b(?:i|we) (?:wont|will not) be|
      ^(?:no,? )?not) (?:sending|paying|transferring|doing|going ahead|wiring|giving)\b
    `,
    pattern`
      \b(?:send|pay|transfer|give|do|wire)(?: (?:him|her|them|\p{L}+))? nothing\b|
      ^(?:no,? )?(?:nothing(?= (?:to|for)\b| please| at all|[.! ]*$)|no (?:money|transfer|
      payment)s?\b)
    `,
    pattern`
      \b(?:stop|cease|quit) (?:sending|paying|transferring)\b|\bno (?:more )?(?:sending|paying)\b
    `,
    pattern`
      \b(?:i|we) (?:dont|do not|no longer) (?:want|need) (?:it|this|that|the money|the transfer|
      any money|money|\p{L}+|[\d,]+k?(?: won)?) (?:sent|paid|transferred)\b
    `,
  ],
  offers: [
    pattern`
      \b(?:but|instead|rather)\b|(?:[,.;!–-]|\band\b|\bjust\b) ?(?:please |just |only )?(?:send|
      pay|transfer|make|give|wire|use|change|to (?!be\b)\p{L})|[,;] ₩?\d
    `,
  ],
  reports: [
    pattern`
      (?:^|[.,;!] ?|\b(?:and|but|so|because|since|that|think|thought|
      sure) )(?!(?:\p{L}+ ){0,2}(?:get|have(?! (?:sent|received|paid|transferred|wired|already|
      just)\b)|want|need|needs|please|make|id|lets|to|be|send|give|pay|transfer|
      wire)\b)(?:[\p{L}\d]+ ){0,3}?(?:have |has |had |just |already |also |recently |once |
      finally ){0,3}(?:sent|received|paid|transferred|wired|gave|deposited|withdrew|returned|
      repaid|lent|borrowed|spent|bought|ordered|remitted)\b
    `,
    pattern`
      \b(?:got|gotten|getting|received)\b.{1,60}\bfrom\b|\b(?:got|been|was|were|is|
      are) (?:already |just )?(?:paid|sent|transferred|received|deposited|credited)\b
    `,
    pattern`
      \b(?:i|we|he|she|they)(?:ve| have| has)? already (?!(?:have|has|had|know|told|said|
      am|are|is|want|need)\b)\p{L}+
    `,
    /\b(?:went|gone|came|come) (?:through|in)\b|\barrived\b/u,
    pattern`
      ^(?:did|has|had|was|were) (?:i|you|we|he|she|they|it|my|the|mom|dad|\p{L}+)\b.*$|
      ^have (?:i|you|we|they)\b.*$
    `,
  ],
  supposes: [
    pattern`
      \b(?:(?<!\bas )if|whether)\b(?! (?:you (?:dont mind|please|could|can|would)|possible|
      thats (?:ok|okay|fine)|its (?:ok|okay|not too)))
    `,
    pattern`
      \b(?:suppose|supposing|assuming|imagine|provided|hypothetically|unless|in case|
      as long as)\b
    `,
    /\bwould\b(?! (?:like|love|you)\b)/u,
    /\b(?:can|could|may|might|should|shall|would) (?:i|we|you|it|they|one|he|she)\b/u,
    /\b(?:am i|are we|is it) (?:able|allowed|possible|ok|okay)\b|\bpossible to\b/u,
  ],
  orders: [/\b(?:send|pay|transfer|wire|give)\b/u],
  politeOrders: [
    pattern`
      \b(?:can|could|would|will) you (?:please |kindly |just )?(?:send|pay|transfer|wire|give|
      make|change|move)\b
    `,
  ],
  recipients: [/\bto \p{L}/u],
  sameAs: [/\bsame\b/u],
  before: [/\b(?:last time|same|again|as before|usual|previous|repeat)/u],
  counts: [
    /\b(?:times|divided|hours?|days?|percent|minus|plus|less|twice|double|half|salary|apiece|(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten) [a-z]+s)\b|%/u,
  ],
  either: [/\b(?:either|or)\b/u],
  plainDays: [
    /^(?:(?:by|on|until|from|for) )?(?:today|now|tomorrow|the day after tomorrow)(?:$| )/u,
  ],
  ordinals: new Map([
    ...ordinal(0, "first, 1st, one, former, top, upper"),
    ...ordinal(1, "second, 2nd, two, latter"),
    ...ordinal(2, "third, 3rd, three"),
    ...ordinal(3, "fourth, 4th, four"),
    ...ordinal(4, "fifth, 5th, five"),
    ...ordinal(5, "sixth, 6th, six"),
    ...ordinal(6, "seventh, 7th, seven"),
    ...ordinal(7, "eighth, 8th, eight"),
    ...ordinal(8, "ninth, 9th, nine"),
    ...ordinal(9, "tenth, 10th, ten"),
    ...ordinal(-1, "last, bottom, final"),
  ]),
};
