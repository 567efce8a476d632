//! Who is to lead no more.

use super::*;

#[test]
fn p18_who_leaves_releases() {
    let mut talk = Talk::leading();
    talk.at(1.0, Input::Leave, "write over 1: nobody 0, acquired 1, renewed 1");
    talk.stored(2, "end");
    // While a renewal is under way, its answer is waited for.
    let mut talk = Talk::leading();
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.at(3.0, Input::Leave, "await");
    talk.stored(2, "write over 2: nobody 0, acquired 3, renewed 3");
    talk.says(refused(), "read");
    let beside = stored(talk.wrote.as_ref().unwrap(), 3).with(&talk.election.sight().unwrap().record);
    talk.says(found(beside), "write over 3: nobody 0, acquired 3, renewed 3");
    talk.stored(4, "end");
}

#[test]
fn p18_who_cannot_release_ends_all_the_same() {
    let mut talk = Talk::leading();
    talk.at(1.0, Input::Leave, "write over 1: nobody 0, acquired 1, renewed 1");
    talk.at(6.0, Input::Time, "read");
    talk.says(no_answer(), "rest until 8");
    talk.at(8.0, Input::Time, "read");
    talk.at(10.0, Input::Time, "lost late; end");
    let mut talk = Talk::leading();
    talk.at(1.0, Input::Leave, "write over 1: nobody 0, acquired 1, renewed 1");
    talk.says(refused(), "read");
    talk.says(found(others(2, 0)), "lost taken; end");
}

#[test]
fn p18_who_leaves_before_it_leads_keeps_nothing() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(Input::Leave, "end");
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    talk.says(Input::Leave, "await");
    talk.stored(1, "write over 1: nobody 0, acquired 0, renewed 0");
    talk.stored(2, "end");
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    talk.says(Input::Leave, "await");
    talk.says(refused(), "end");
}
